#pragma once

#include <span>

#include "lib/tensor.hpp"

namespace abh {
// [matmul]
/// How `matmul` reads its operands.
struct MatmulOptions {
    bool transpose_a = false;
    bool transpose_b = false;
    Real scale = 1;  ///< factor of the whole product
};

/// `scale * op(a) op(b)`, where `op` transposes the last two axes on request.
///
/// @param a  `[..., m, k]`, or `[..., k, m]` with `transpose_a`
/// @param b  `[..., k, n]`, or `[..., n, k]` with `transpose_b`; the leading axes of both are equal
/// @return   `[..., m, n]`, one product for each leading index
/// @throws std::invalid_argument if the shapes do not fit
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options = {});

/// `c += scale * op(a) op(b)`, with `c` of the shape that `matmul` would return.
void add_matmul(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options = {});
// [matmul: together]
/// The factors of one of several products.
struct MatmulTerm {
    const Tensor* a = nullptr;
    const Tensor* b = nullptr;
};
constexpr std::size_t most_together = 4;

/// Several products of the same sizes, in one pass of all threads, which meet once. Where all have
/// few rows, those of an `a` that they share are rearranged once.
///
/// @param terms  at most `most_together` pairs `a`, `b`
/// @param c      `c[i]` becomes `scale * op(a_i) op(b_i)`
/// @throws std::invalid_argument if sizes differ, or there are too many
void matmul_together(std::span<Tensor> c, std::span<const MatmulTerm> terms,
                     MatmulOptions options = {});
/// The sum of such products, each added to those before it: `scale * sum_i op(a_i) op(b_i)`.
/// @throws std::invalid_argument as `matmul_together` does
Tensor sum_of_products(std::span<const MatmulTerm> terms, MatmulOptions options = {});
// [matmul: rows]
/// Rows `first` to `first + count - 1` of the product of two matrices, written over `rows` or
/// added. Runs on the calling thread alone.
void matmul_rows(Real* rows, Index first, Index count, const Tensor& a, const Tensor& b,
                 MatmulOptions options, bool add);
/// Whether large products are oneDNN's. Then their last bits may depend on the number of threads,
/// though not on the run.
bool products_by_library();
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
