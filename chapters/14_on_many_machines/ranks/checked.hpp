#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [checked]
/// An engine that checks what it passes on to `engine`, to find out why a program hangs or computes
/// wrong sums. Before each exchange the ranks tell one another what they are about to send.
///
/// A mistake becomes a `std::runtime_error` of one line that names the exchange and the ranks:
/// - ranks that start different exchanges, or do not start them in time;
/// - a message that does not fit its room, before it is sent;
/// - a message that changes, or a room that is written to, before `wait` has returned.
///
/// A room reads as NaN until `wait` has returned. If a transfer is never waited for, a line on
/// standard error says so. Messages and rooms must lie in the processor's memory. Unlike that of
/// other engines, this `exchange` waits until all ranks have called it.
/// @param seconds  how long a rank waits for the others, at most
std::unique_ptr<Engine> checked(std::unique_ptr<Engine> engine, double seconds = 60);

}  // namespace abh
