#pragma once

#include "lib/matmul.hpp"

namespace abh {
// [product]
/// A matrix somewhere in memory: element (i, j) is `data[i * row + j * column]`.
struct Strided {
    const Real* data;
    Index row, column;

    /// Contiguous rows of `width` numbers or, with `by_columns`, contiguous columns of as many.
    static Strided of(const Real* data, Index width, bool by_columns = false) {
        return by_columns ? Strided{data, 1, width} : Strided{data, width, 1};
    }
    bool by_columns() const { return column != 1; }
    Strided transposed() const { return {data, column, row}; }
    /// The part that begins at element (i, j).
    Strided from(Index i, Index j) const { return {data + i * row + j * column, row, column}; }
};

/// `c = scale * a b`, or `c += scale * a b`.
struct Product {
    Real* c;  ///< [m, n], row i begins at `c + i * width_c`
    Index width_c;
    Strided a, b;  ///< [m, k], [k, n]
    Index m, n, k;
    Real scale = 1;
    bool add = false;  ///< whether to add to what `c` holds

    /// The same product of matrices that begin at these addresses.
    Product at(Real* to, const Real* left, const Real* right) const {
        return {to,    width_c, {left, a.row, a.column}, {right, b.row, b.column}, m, n, k,
                scale, add};
    }
    /// Some rows and columns of the result.
    Product block(Index row, Index column, Index n_rows, Index n_columns) const {
        Product part = at(c + row * width_c + column, a.from(row, 0).data, b.from(0, column).data);
        part.m = n_rows;
        part.n = n_columns;
        return part;
    }
    /// The product over part of the inner axis.
    Product inner(Index first, Index count) const {
        Product part = at(c, a.from(0, first).data, b.from(first, 0).data);
        part.k = count;
        return part;
    }
};

/// A product as `matmul` describes it, of `[..., m, k]` and `[..., k, n]` or their transposes. It
/// has no addresses yet; `at` sets them.
inline Product product_of(const Tensor& a, const Tensor& b, const MatmulOptions& o, bool add) {
    const Index m = a.dim(o.transpose_a ? -1 : -2), k = a.dim(o.transpose_a ? -2 : -1),
                n = b.dim(o.transpose_b ? -2 : -1);
    const Strided left = Strided::of(nullptr, a.dim(-1), o.transpose_a),
                  right = Strided::of(nullptr, b.dim(-1), o.transpose_b);
    return {nullptr, n, left, right, m, n, k, o.scale, add};
}
// [kinds]
/// The most that `small_matmul` computes at once: this many rows, and this many times `lanes`
/// columns.
#ifdef __AVX512F__  // 32 registers of 16 floats; with AVX2 16 of 8, and `lanes` takes two
constexpr int tile_height = 6, tile_width = 4;
#else
constexpr int tile_height = 6, tile_width = 1;
#endif
/// A product, without scale, of matrices that fit into a core's cache, on the calling thread. Each
/// number of `a` multiplies a row of `b`, so `a` may be transposed at no cost. But `b` may not be,
/// and the number of its columns must be a multiple of `lanes`.
void small_matmul(const Product& product);
/// A product of any size, on the calling thread. Either the rows or the columns of `a` must be
/// contiguous, and likewise of `b`. The bits of an element depend only on its row of `a`, its
/// column of `b` and `scale`, so parts of a product can be computed separately, on any thread.
void packed_matmul(const Product& product);
/// A product of any size by what is fastest, on the calling thread. It has the same bits in every
/// run.
void product_here(const Product& product);
/// Whether `skinny_matmul` is best for a product of whole matrices. It is if `a` has few rows and
/// is not transposed, and `b` is not small.
bool is_skinny(const Product& product);
/// Reads `b` from memory once, and gives the same bits for any number of threads.
void skinny_matmul(const Product& product);
/// Whether oneDNN computes large products, except those of few rows. If so, their last bits may
/// depend on the number of threads, but are the same in every run.
bool products_by_library();

}  // namespace abh
