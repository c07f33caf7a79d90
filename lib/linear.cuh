#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [linear on the device]
/// `y = y + bias`, row by row, then max(y, 0) on request. @param bias  `[n]`, or empty
void add_bias(Tensor& y, const Tensor& bias, bool relu);

}  // namespace abh::cuda
