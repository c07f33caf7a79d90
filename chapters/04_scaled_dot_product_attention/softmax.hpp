#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [softmax]
/// Softmax over the last axis, `y_j = exp(x_j - max x) / sum_k exp(x_k - max x)`.
///
/// Vaswani et al. 2017, eq. 1. Subtracting the row's maximum changes nothing and keeps every
/// exponent <= 0. Where exp falls below the smallest normal number, the weight is exactly 0.
/// A row in which every score is -infinity becomes NaN.
///
/// @param x  scores, any shape `[..., n]`, n >= 1
/// @return   weights of the same shape; each row is >= 0 and sums to 1
/// @throws std::invalid_argument if the last axis is empty
Tensor softmax(const Tensor& x);

/// Gradient of `softmax`: `dx = y * (dy - sum(dy * y))`, row by row.
///
/// @param dy  gradient of the loss with respect to `y`, shape of `y`
/// @param y   what `softmax` returned
Tensor softmax_backward(const Tensor& dy, const Tensor& y);

}  // namespace abh
