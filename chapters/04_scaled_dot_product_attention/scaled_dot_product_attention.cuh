#pragma once

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh::cuda {
// [softmax on the device]
// What scaled_dot_product_attention.cpp computes on the processor; it has checked all shapes.

void softmax(Tensor& y, const Tensor& x);
void softmax_backward(Tensor& dx, const Tensor& dy, const Tensor& y);
// [mask on the device]
/// `scores[b, h, i, j] = value` wherever the mask hides key j from query i.
/// @param mask  four axes, each of the size in `scores` or 1
void overwrite_hidden(Tensor& scores, const Mask& mask, MaskMeaning meaning, Real value);

}  // namespace abh::cuda
