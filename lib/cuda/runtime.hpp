#pragma once

#include "lib/device.hpp"
#include "lib/fast/product.hpp"

namespace abh::cuda {
// [product]
/// Computes `batch` products on the device. Their matrices follow those of `first` without gaps.
/// @param bias  `[n]`, is added to each row of the results unless it is null
void multiply(const Product& first, Index batch, const Real* bias = nullptr);
/// Whether products may round their operands to TF32.
bool tf32();

}  // namespace abh::cuda
