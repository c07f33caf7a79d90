#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// Prints what a step of Adam costs, plain and fast; the loss, with all logits at once and by
/// blocks; and an epoch, with pads and without.
/// @param results  receives what the tables print, under `adam`, `product`, `loss` and the names of
///                 the four ways to make batches
void show_training_cost(std::uint64_t seed, Results& results);

}  // namespace abh
