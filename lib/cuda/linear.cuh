#pragma once

#include "lib/linear.hpp"

namespace abh::cuda {
// [linear on the device]
/// `x W^T + b`; with `relu`, negative elements become 0. @param x  `[..., d_in]`
Tensor linear_map(const Tensor& x, const Linear& map, bool relu);

}  // namespace abh::cuda
