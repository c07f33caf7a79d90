#pragma once

#include "lib/device.hpp"
#include "lib/fast/product.hpp"
#include "lib/precision.hpp"

namespace abh::cuda {
// [product]
/// What a product does besides, while it has its numbers in registers.
struct Epilogue {
    const Real* bias = nullptr;  ///< `[n]`, is added to each row of the results
    bool relu = false;           ///< whether negative results then become 0
    Real* sums_of_a = nullptr;   ///< `[m]`, becomes the sums of op(a) along k; not with the others
};

/// Both factors of a product in bf16, to be read in place of its own; or null, and its own are
/// read.
struct Factors16 {
    const Half *a = nullptr, *b = nullptr;
};

/// See `Device::multiply`.
inline bool multiply(const Product& first, Index batch, const Epilogue& epilogue = {},
                     const Factors16& factors = {}) {
    return device().multiply(first, batch, epilogue, factors);
}
/// The factors in bf16 if that is the precision.
Factors16 factors16(const Tensor& a, const Tensor& b);
/// Whether products may round their operands to TF32.
bool tf32();

}  // namespace abh::cuda
