#pragma once

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [overlap]
/// Times steps of the base model on these ranks: in turn, steps that send gradients during
/// backward, after it, and during it in bfloat16. Prints when buckets left and arrived.
/// @param count    steps of each kind; medians are reported
/// @param results  receives `KIND_ms`, `gain` and the array `KIND` for the kinds `overlapped`,
///                 `apart` and `bfloat16`; its rows: a bucket left, arrived, backward over, in ms
void show_overlap(Ranks& ranks, Index count, std::uint64_t seed, Results& results);

}  // namespace abh
