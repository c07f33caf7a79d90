#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [link]
/// The seconds that a message of m bytes takes: `latency + m * seconds_per_byte`.
struct Link {
    double latency = 0, seconds_per_byte = 0;

    double operator()(double bytes) const { return latency + bytes * seconds_per_byte; }
    /// The seconds that a ring all-reduce of `bytes` bytes takes on n ranks.
    double ring(double bytes, Index n) const {
        const double ranks = static_cast<double>(n);
        return 2 * (ranks - 1) * (*this)(bytes / ranks);
    }
};
// [slowed]
/// `engine` with messages that seem to come over a slower link, to show on one machine what a
/// network would do. Each rank has one link, which carries both directions at once, and exchanges
/// one after another. Computation is not slowed down.
std::unique_ptr<Engine> slowed(std::unique_ptr<Engine> engine, Link link);

}  // namespace abh
