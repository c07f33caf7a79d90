#pragma once

#include <optional>

#include "lib/linear.hpp"

namespace abh::cuda {
// [linear on the device]
/// `x W^T + b`; with `relu`, negative elements become 0. @param x  `[..., d_in]`
/// @return  nothing if the library cannot cut along with the product
std::optional<Tensor> linear_map(const Tensor& x, const Linear& map, bool relu);
Tensor linear(const Tensor& x, const Linear& map);

}  // namespace abh::cuda
