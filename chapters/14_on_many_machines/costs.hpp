#pragma once

#include <optional>
#include <vector>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [bytes]
/// Prints how much the busiest rank sends while a row is summed, by a ring and through one rank,
/// and how much a training step sends, with the formulas beside the counts.
/// @param results  receives `ring_sent_N`, `one_sent_N` and `broadcast_sent_N`, in rows; the array
///                 `sent`; `step_sent_N` and `step_formula_N`, in bytes
void show_bytes(Results& results);
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
/// The link that fits the measured times best, by the squares of the relative errors.
Link fit_link(std::span<const double> bytes, std::span<const double> seconds);
// [links]
/// Times messages between ranks 0 and 1, fits a `Link` to them, and computes how long rings of 8,
/// 64 and 1,024 ranks would take over it and over published networks.
/// @param results  receives `latency`, `bandwidth`, `ring_NETWORK_N` in ms, and the arrays
///                 `message_bytes`, `message_seconds` and `ring_ms`
void show_links(Ranks& ranks, Results& results);

// [step]
/// The slowest rank, if it computes more than 1.2 times as long as the median of the others.
/// @param computes  how long each rank computes for one shard
std::optional<std::size_t> slow_rank(const std::vector<double>& computes);
/// Times steps of the base model on these ranks, and prints how long each rank computes and waits.
/// Names the rank that computes much longer than the others, if there is one.
/// @param count    number of steps; the median is reported
/// @param results  receives `step_ms`, `computes_RANK_ms`, `waits_RANK_ms`
void show_step(Ranks& ranks, Index shards, Index count, std::uint64_t seed, Results& results);

}  // namespace abh
