#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// Prints the cost of the loss, with all logits at once and by blocks, and of an epoch's gradients,
/// with pads and without.
/// @param results  receives what the tables print, under `loss`, `like_padded`, `any_packed` and
///                 `like_packed`, the memory in MB, `loss_mb` and `loss_block_mb`, and for `any`
///                 and `like` lengths `KEY_pads` and `KEY_bound`
void show_training_cost(std::uint64_t seed, Results& results);

}  // namespace abh
