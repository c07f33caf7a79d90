#pragma once

#include "chapters/09_training/loss/loss.hpp"

namespace abh::fast {
// [in place]
/// Computes loss and gradient at once, for all or some rows of a batch. Returns the *sum* of their
/// losses, and overwrites `logits` with the gradient of the batch's mean with respect to them.
/// @param logits   `[B, L, n_words]`, or `[1, rows, n_words]` for some rows
/// @param targets  one for each row, in any shape
/// @param counted  `count_targets` of the whole batch, which has also checked the targets
double cross_entropy_in_place(Tensor& logits, const Ids& targets,
                              const CrossEntropyOptions& options, Index counted);

}  // namespace abh::fast
