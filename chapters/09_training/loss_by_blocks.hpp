#pragma once

#include "chapters/09_training/loss.hpp"
#include "lib/linear.hpp"

namespace abh {
// [by blocks]
/// A loss, and its gradient with respect to what went into the last map.
struct LossByBlocks {
    double loss;
    Tensor dx;  ///< shape of `x`
};

/// `cross_entropy(output.forward(x), targets)` and its backward pass, some rows at a time. A loss
/// is the last thing that a forward pass computes, so the gradient of a row's logits is known as
/// soon as the row is: it takes their place, goes back through `output`, and is gone. The logits of
/// all rows never stand in memory at once.
///
/// Adds to the gradients of `output`.
///
/// @param x        `[B, L, d_model]`
/// @param targets  `[B, L]`
/// @param at_once  rows, at most; 0: as many as make `numbers_at_once` logits, or 64 if these are
///                 more. All blocks but the last are of one size.
/// @throws std::invalid_argument as `cross_entropy` does, or if `at_once` is negative
LossByBlocks cross_entropy_by_blocks(Linear& output, const Tensor& x, const Ids& targets,
                                     const CrossEntropyOptions& options = {}, Index at_once = 0);
/// 16 MiB of them in single precision.
constexpr Index numbers_at_once = 1 << 22;

}  // namespace abh
