#pragma once

#include "lib/device.hpp"
#include "lib/fast/product.hpp"

namespace abh::cuda {
// [product]
/// What a product does besides, while it has its numbers in registers.
struct Epilogue {
    const Real* bias = nullptr;  ///< `[n]`, is added to each row of the results
    bool relu = false;           ///< whether negative results then become 0
    Real* sums_of_a = nullptr;   ///< `[m]`, becomes the sums of op(a) along k; not with the others
};

/// See `Device::multiply`.
inline bool multiply(const Product& first, Index batch, const Epilogue& epilogue = {}) {
    return device().multiply(first, batch, epilogue);
}
/// Whether products may round their operands to TF32.
bool tf32();

}  // namespace abh::cuda
