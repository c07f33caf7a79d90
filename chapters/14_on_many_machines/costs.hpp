#pragma once

#include <optional>
#include <vector>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [bytes]
/// Prints what the busiest rank sends while a row is summed, by a ring and by way of one rank, and
/// what a training step sends, beside the formulas.
/// @param results  receives `ring_sent_N` and `one_sent_N`, in rows; array `sent`; `step_sent_N`
///                 and `step_formula_N`, in bytes
void show_bytes(Results& results);
// [link]
/// What a message of m bytes takes: `latency + m * seconds_per_byte`.
struct Link {
    double latency = 0, seconds_per_byte = 0;

    double operator()(double bytes) const { return latency + bytes * seconds_per_byte; }
    /// A ring all-reduce of so many bytes on n ranks.
    double ring(double bytes, Index n) const {
        const double ranks = static_cast<double>(n);
        return 2 * (ranks - 1) * (*this)(bytes / ranks);
    }
};
/// The link whose times are nearest to those measured, by relative error.
Link fit_link(std::span<const double> bytes, std::span<const double> seconds);
// [links]
/// Measures messages between ranks 0 and 1, fits a `Link`, and computes what rings of 8, 64 and
/// 1,024 ranks would take with it and with published networks.
/// @param results  receives `latency`, `bandwidth`, arrays `message_bytes`, `message_seconds`;
///                 `ring_NETWORK_N` in ms
void show_links(Ranks& ranks, Results& results);

// [step]
/// The rank that computes more than 1.2 times as long as the median of the others, if there is one.
/// @param computes  of each rank, for a shard
std::optional<std::size_t> slow_rank(const std::vector<double>& computes);
/// Prints a line if a rank has been slow. All ranks call it.
/// @param computed  how long this one has computed all of its shards
void name_slow_rank(Ranks& ranks, Index shards, double computed);
/// Times steps of the base model on these ranks, and prints what each rank computes and waits. A
/// rank that computes longer than the others is named.
/// @param count    how many steps; the median is reported
/// @param results  receives `step_ms`, `computes_RANK_ms`, `waits_RANK_ms`
void show_step(Ranks& ranks, Index shards, Index count, std::uint64_t seed, Results& results);

}  // namespace abh
