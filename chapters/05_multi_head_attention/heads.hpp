#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [split and join]
/// `[B, L, H * d_k]` becomes `[B, H, L, d_k]`: head h takes columns h * d_k to (h + 1) * d_k - 1.
/// @throws std::invalid_argument if `n_heads` does not divide the last axis
Tensor split_heads(const Tensor& x, Index n_heads);
/// The inverse of `split_heads`: `[B, H, L, d_k]` becomes `[B, L, H * d_k]`.
Tensor join_heads(const Tensor& x);

}  // namespace abh
