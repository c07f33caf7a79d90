#pragma once

#include "lib/fast/onednn.hpp"
#include "lib/linear.hpp"

namespace abh {
// [bf16]
/// The elements of `x` in bf16. They are kept beside `x` until it is written, so a weight is
/// rounded once a step, and an input once for forward and backward. Whoever holds them has them
/// for longer.
std::shared_ptr<const Half> in_bf16(const Tensor& x);
/// Whether `multiply` computes this product in bf16 if that is the precision: whether the processor
/// can, and each operand is used often enough to be worth rounding.
bool is_worth_rounding(const Product& p);
// [int8]
/// `x W^T + b` with both operands in 8 bits, a scale for each row, and sums in whole numbers. With
/// `relu`, negative elements become 0. The rounded weight is kept beside the weight.
/// @param x  `[rows, d_in]`
Tensor linear_in_int8(const Tensor& x, const Linear& map, bool relu);

}  // namespace abh
