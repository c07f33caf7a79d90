#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [softmax]
/// Softmax over the last axis, `w_j = exp(z_j - max z) / sum_n exp(z_n - max z)`.
///
/// Vaswani et al. 2017, eq. 1. Subtracting the row's maximum changes nothing and keeps every
/// exponent <= 0. Where exp falls below the smallest normal number, the weight is exactly 0.
/// A row in which every score is -infinity becomes NaN.
///
/// @param z  scores, any shape `[..., n]`, n >= 1
/// @return   weights of the same shape; each row is >= 0 and sums to 1
/// @throws std::invalid_argument if the last axis is empty
Tensor softmax(const Tensor& z);

/// Gradient of `softmax`: `dz = w * (dw - sum(dw * w))`, row by row.
///
/// @param dw  gradient of the loss with respect to `w`, shape of `w`
/// @param w   the result of `softmax`
Tensor softmax_backward(const Tensor& dw, const Tensor& w);

}  // namespace abh
