#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [matmul]
/// How `matmul` reads its operands and scales their product.
struct MatmulOptions {
    bool transpose_a = false;
    bool transpose_b = false;
    Real scale = 1;  ///< multiplies the whole product
};

/// `scale * op(a) op(b)`, where `op` transposes the last two axes on request.
///
/// @param a  `[..., m, k]`, or `[..., k, m]` with `transpose_a`
/// @param b  `[..., k, n]`, or `[..., n, k]` with `transpose_b`; the leading axes of both are equal
/// @return   `[..., m, n]`, one product for each leading index
/// @throws std::invalid_argument if the shapes do not fit
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options = {});

/// Writes the product into a `c` of its shape: `c = scale * op(a) op(b)`, or `c += ...` with `add`.
/// @throws std::invalid_argument if the shapes do not fit
void multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options, bool add);
/// `c += scale * op(a) op(b)`.
inline void add_matmul(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options = {}) {
    multiply(c, a, b, options, true);
}
// [matmul: backward]
/// Gradients of a product with respect to its two factors.
struct MatmulGradients {
    Tensor da;  ///< shape of `a`
    Tensor db;  ///< shape of `b`
};

/// Gradients of `c = matmul(a, b, options)`: for the plain form `da = dc b^T`, `db = a^T dc`.
/// @param dc  gradient of the loss with respect to `c`, `[..., m, n]`
MatmulGradients matmul_backward(const Tensor& dc, const Tensor& a, const Tensor& b,
                                MatmulOptions options = {});

}  // namespace abh
