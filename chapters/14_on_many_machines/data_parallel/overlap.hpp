#pragma once

#include "chapters/14_on_many_machines/ranks/ranks.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [overlap]
/// Times steps of the base model on these ranks, whose gradients go out while backward goes on, and
/// such whose gradients go out after it, in turns; prints when each bucket left and arrived.
/// @param count    steps of each kind; medians are reported
/// @param results  receives `overlapped_ms`, `apart_ms`, `gain`; arrays `overlapped` and `apart`,
///                 a row for each bucket: left, arrived, when backward was over, in ms
void show_overlap(Ranks& ranks, Index count, std::uint64_t seed, Results& results);

}  // namespace abh
