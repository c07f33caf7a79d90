#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [relu on the device]
void relu(Tensor& y, const Tensor& x);
void relu_backward(Tensor& dx, const Tensor& dy, const Tensor& y);

}  // namespace abh::cuda
