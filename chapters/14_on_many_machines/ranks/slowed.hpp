#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [slowed]
/// The imitated link: a message of m bytes takes `latency + m * seconds_per_byte` seconds.
struct Slowness {
    double latency = 0, seconds_per_byte = 0;
};

/// `engine` with messages that seem to come over a slower link, to show on one machine what a
/// network would do. Each rank has one link, which carries both directions at once, and exchanges
/// one after another. Computation is not slowed down.
std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Slowness link);

}  // namespace abh
