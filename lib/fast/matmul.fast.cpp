#include "lib/fast/matmul.hpp"

#include <algorithm>
#include <numeric>

#include "lib/eigen.hpp"
#include "lib/fast/packed_matmul.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/skinny_matmul.hpp"

#if defined(ABH_ONEDNN_ALWAYS) || defined(__AVX512F__) || !defined(__FMA__)
#define ABH_LIBRARY_IS_FASTER
#endif
#if defined(ABH_ONEDNN) && defined(ABH_LIBRARY_IS_FASTER) && !defined(ABH_DOUBLE)
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#define ABH_BY_LIBRARY
#endif

namespace abh {
namespace fast {
decltype(multiply) multiply;
}
// [sizes]
namespace {

/// The sizes of one batched product.
struct Sizes {
    Index batch, m, k, n;

    Sizes(const Tensor& a, const Tensor& b, const MatmulOptions& o)
        : batch(1),
          m(a.dim(o.transpose_a ? -1 : -2)),
          k(a.dim(o.transpose_a ? -2 : -1)),
          n(b.dim(o.transpose_b ? -2 : -1)) {
        for (int axis = 0; axis + 2 < a.rank(); ++axis) batch *= a.dim(axis);
    }
};
// [library]
#ifdef ABH_BY_LIBRARY
constexpr bool with_library = true;
#else
constexpr bool with_library = false;
#endif

/// Whether it pays to put the operands in order first. Otherwise Eigen multiplies, which begins
/// sooner.
bool is_large(const Sizes& s) {
    return s.m * s.n * s.k >= 1 << 18;
}
// [one product]
/// `c (+)= scale * op(a) op(b)` for a block of the product. `c` points to row 0 of the result.
struct Product {
    const Real* a;
    const Real* b;
    Real* c;
    const Sizes& s;
    const MatmulOptions& o;
    bool add;

    void block(Index row, Index col, Index n_rows, Index n_cols) const {
        if (!is_large(s))
            by_eigen(row, col, n_rows, n_cols);
        else if (!by_library(row, col, n_rows, n_cols))
            packed(row, col, n_rows, n_cols);
    }

private:
    void by_eigen(Index row, Index col, Index n_rows, Index n_cols) const {
        const ConstMatrixMap A(a, o.transpose_a ? s.k : s.m, o.transpose_a ? s.m : s.k);
        const ConstMatrixMap B(b, o.transpose_b ? s.n : s.k, o.transpose_b ? s.k : s.n);
        if (o.transpose_a)
            times(A.middleCols(row, n_rows).transpose(), B, row, col, n_rows, n_cols);
        else
            times(A.middleRows(row, n_rows), B, row, col, n_rows, n_cols);
    }

    template <class Left, class Right>
    void times(const Left& A, const Right& B, Index row, Index col, Index n_rows,
               Index n_cols) const {
        auto C = MatrixMap(c, s.m, s.n).block(row, col, n_rows, n_cols);
        if (!add) C.setZero();
        if (o.transpose_b)
            C.noalias() += o.scale * A * B.middleRows(col, n_cols).transpose();
        else
            C.noalias() += o.scale * A * B.middleCols(col, n_cols);
    }

    void packed(Index row, Index col, Index n_rows, Index n_cols) const {
        const Strided A = o.transpose_a ? Strided{a, 1, s.m} : Strided{a, s.k, 1},
                      B = o.transpose_b ? Strided{b, 1, s.k} : Strided{b, s.n, 1};
        packed_matmul(c + row * s.n + col, s.n, A.from(row, 0), B.from(0, col), n_rows, n_cols, s.k,
                      o.scale, add);
    }
    // [one product: by the library]
    /// On the calling thread alone: what calls it is done by all threads.
    bool by_library([[maybe_unused]] Index row, [[maybe_unused]] Index col,
                    [[maybe_unused]] Index n_rows, [[maybe_unused]] Index n_cols) const {
#ifdef ABH_BY_LIBRARY
        omp_set_num_threads(1);
        const Index lda = o.transpose_a ? s.m : s.k, ldb = o.transpose_b ? s.k : s.n;
        const Real* const from_a = a + (o.transpose_a ? row : row * lda);
        const Real* const from_b = b + (o.transpose_b ? col * ldb : col);
        bool done = true;
        for (Index p = 0; p < s.k && done; p += depth())
            done = dnnl_sgemm(o.transpose_a ? 'T' : 'N', o.transpose_b ? 'T' : 'N', n_rows, n_cols,
                              std::min(depth(), s.k - p), o.scale,
                              from_a + p * (o.transpose_a ? lda : 1), lda,
                              from_b + p * (o.transpose_b ? 1 : ldb), ldb,
                              add || p > 0 ? 1.0f : 0.0f, c + row * s.n + col, s.n) == dnnl_success;
        return done;
#else
        return false;
#endif
    }

    /// So much of the inner axis at a time. To transpose `a` is to walk down its columns. Where its
    /// rows are long, and their length a power of two, a column lies in few places of a cache, and
    /// the numbers around it are gone before they are used.
    Index depth() const {
        return o.transpose_a && s.m >= 1024 ? 192 : s.k;
    }
};
// [all products]
/// Rows and columns of the blocks into which a result is cut.
struct Block {
    Index rows, columns;
};

/// `n` in so many parts, each but the last a multiple of `unit`.
Index part_of(Index n, Index parts, Index unit) {
    return std::max<Index>(1, ceil_div(ceil_div(n, parts), unit)) * unit;
}

/// Cuts the longer side.
Block longer_side(const Sizes& s, Index parts) {
    const Index part = std::max<Index>(64, part_of(std::max(s.m, s.n), parts, 16));
    return s.m > s.n ? Block{part, s.n} : Block{s.m, part};
}

/// A small product is cut by its sizes alone, so that its bits are the same for any number of
/// threads. Those of `packed_matmul` do not depend on the cut; those of a library may.
Block block_of(const Sizes& s, const MatmulOptions& o) {
    if (!is_large(s)) return longer_side(s, 8);
    if (with_library) return longer_side(s, threads());
    const Index parts = threads() / std::gcd(threads(), s.batch);  // so that all have as many
    // The first side is cut into as many of the parts as leave each of them 128 rows or columns.
    Index first = std::min(parts, ceil_div(o.transpose_a ? s.m : s.n, 128));
    while (parts % first != 0) --first;
    const Index by_rows = o.transpose_a ? first : parts / first;
    return {part_of(s.m, by_rows, 6), part_of(s.n, parts / by_rows, 16)};
}

}  // namespace

void fast::multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Sizes s(a, b, o);
    if (s.batch == 1 && !o.transpose_a && is_skinny(s.m, s.k, s.n))
        return skinny_matmul(
            {a.data(), b.data(), c.data(), s.m, s.k, s.n, o.scale, o.transpose_b, add});
    const Block block = block_of(s, o);
    const Index by_rows = ceil_div(s.m, block.rows), by_columns = ceil_div(s.n, block.columns),
                blocks = s.batch * by_rows * by_columns;
    const auto one = [&](Index i) {
        const Index p = i / (by_rows * by_columns), row = i / by_columns % by_rows * block.rows,
                    col = i % by_columns * block.columns;
        const Product product{a.data() + p * s.m * s.k,
                              b.data() + p * s.k * s.n,
                              c.data() + p * s.m * s.n,
                              s,
                              o,
                              add};
        product.block(row, col, std::min(block.rows, s.m - row),
                      std::min(block.columns, s.n - col));
    };
    if (s.batch * s.m * s.n * s.k < 1 << 16)  // waking a thread would cost more than the product
        for (Index i = 0; i < blocks; ++i) one(i);
    else
        parallel_for(blocks, one);
}
// [interface]
bool products_by_library() {
    return with_library;
}

void matmul_rows(Real* rows, Index first, Index count, const Tensor& a, const Tensor& b,
                 MatmulOptions options, bool add) {
    const Sizes s(a, b, options);
    // block() addresses row `first` of the whole result
    const Product product{a.data(), b.data(), rows - first * s.n, s, options, add};
    product.block(first, 0, count, s.n);
}

}  // namespace abh
