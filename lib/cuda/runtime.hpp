#pragma once

#include "lib/device.hpp"
#include "lib/tensor.hpp"

namespace abh::cuda {
// [product]
/// `c = scale * op(a) op(b)`, or `c += ...`, for `batch` matrices that follow one another,
/// row-major.
struct Product {
    Real* c;        ///< [batch, m, n]
    const Real* a;  ///< [batch, m, k], or [batch, k, m] with transpose_a
    const Real* b;  ///< [batch, k, n], or [batch, n, k] with transpose_b
    Index batch, m, n, k;
    bool transpose_a, transpose_b;
    Real scale;
    bool add;
};
void multiply(const Product& product);

}  // namespace abh::cuda
