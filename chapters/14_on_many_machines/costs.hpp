#pragma once

#include <optional>
#include <vector>

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "chapters/14_on_many_machines/ranks/slowed.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [bytes]
/// Prints how much the busiest rank sends while a row is summed, by a ring and through one rank,
/// and how much a training step sends, with the formulas beside the counts.
/// @param results  receives `ring_sent_N`, `one_sent_N` and `broadcast_sent_N`, in rows; the array
///                 `sent`; `step_sent_N` and `step_formula_N`, in bytes
void show_bytes(Results& results);
// [links]
/// The link that fits the measured times best, by the squares of the relative errors.
Link fit_link(std::span<const double> bytes, std::span<const double> seconds);
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
// [overlap]
/// Times steps of the base model on these ranks: in turn, steps that send gradients during
/// backward, after it, and during it in bfloat16. Prints when buckets left and arrived.
/// @param count    steps of each kind; medians are reported
/// @param results  receives `KIND_ms`, `gain` and the array `KIND` for the kinds `overlapped`,
///                 `apart` and `bfloat16`; its rows: a bucket left, arrived, backward over, in ms
void show_overlap(Ranks& ranks, Index count, std::uint64_t seed, Results& results);

}  // namespace abh
