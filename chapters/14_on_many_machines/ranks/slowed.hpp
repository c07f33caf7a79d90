#pragma once

#include <functional>

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [slowed]
/// A link as it is imitated: a message of m bytes takes `latency + m * seconds_per_byte`.
struct Slowness {
    double latency = 0, seconds_per_byte = 0;
};

/// The time by which messages are due, in seconds. A test has its own.
struct Timer {
    std::function<double()> now;              ///< since some moment
    std::function<void(double)> sleep_until;  ///< that time
};
/// The machine's clock, which nobody sets.
Timer steady_timer();

/// `engine`, whose messages seem to come over a slower link: to see on one machine what a network
/// would do. Each rank has one link for both directions at once, over which its messages go one
/// after the other. What is computed meanwhile is not slowed down.
std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Slowness link,
                               Timer timer = steady_timer());

}  // namespace abh
