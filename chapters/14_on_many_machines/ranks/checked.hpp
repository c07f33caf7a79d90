#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [checked]
/// An engine that checks what it hands on to `engine`, to find out why a program hangs or gives
/// wrong sums: before each exchange the ranks tell one another what they are about to send.
///
/// A mistake becomes a `std::runtime_error` of one line that names the exchange and the ranks:
/// - ranks that come to different exchanges, or do not come in time;
/// - a message that does not fit its room, before it is sent;
/// - a message that changes, or a room that is written to, before `wait` has returned.
///
/// What is read from a room before `wait` has returned is NaN. Where nobody waits for a transfer, a
/// line on the standard error says so. Messages and rooms must lie in the processor's memory. An
/// exchange here waits until all ranks have come.
/// @param seconds  how long a rank waits for the others, at most
std::unique_ptr<Engine> checked(std::unique_ptr<Engine> engine, double seconds = 60);

}  // namespace abh
