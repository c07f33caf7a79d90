#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [heads on the device]
/// `[B, L, H * d_k]` to `[B, H, L, d_k]`, whose shape is that of `y`.
void split_heads(Tensor& y, const Tensor& x);
/// The way back; the shape with heads is that of `x`.
void join_heads(Tensor& y, const Tensor& x);

}  // namespace abh::cuda
