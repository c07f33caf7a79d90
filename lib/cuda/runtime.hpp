#pragma once

#include "lib/device.hpp"
#include "lib/fast/product.hpp"

namespace abh::cuda {
// [product]
/// Computes `batch` products of matrices on the device that follow one another without gaps.
void multiply(const Product& first, Index batch);
/// Whether products may round their operands to TF32.
bool tf32();

}  // namespace abh::cuda
