#include "lib/fast/matmul.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/skinny_matmul.hpp"

#if defined(ABH_ONEDNN) && !defined(ABH_DOUBLE)
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

/// Whether oneDNN multiplies, in single precision and where the book was built with it; in small
/// products Eigen begins sooner.
bool by_library(const Sizes& s) {
    return with_library && s.m * s.n * s.k >= 1 << 18;
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
        if (by_library(s) && block_by_library(row, col, n_rows, n_cols)) return;
        const ConstMatrixMap A(a, o.transpose_a ? s.k : s.m, o.transpose_a ? s.m : s.k);
        const ConstMatrixMap B(b, o.transpose_b ? s.n : s.k, o.transpose_b ? s.k : s.n);
        if (o.transpose_a)
            times(A.middleCols(row, n_rows).transpose(), B, row, col, n_rows, n_cols);
        else
            times(A.middleRows(row, n_rows), B, row, col, n_rows, n_cols);
    }

private:
    /// On the calling thread alone: what calls it is done by all threads.
    bool block_by_library([[maybe_unused]] Index row, [[maybe_unused]] Index col,
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
};
// [all products]
/// The width of the blocks into which the longer side of the result is cut. Eigen's are cut by size
/// alone, so the result has the same bits for any number of threads. oneDNN rearranges the operands
/// of every block anew, so there is one for each thread; where a block ends, the bits may differ.
Index block_width(const Sizes& s) {
    const Index parts = by_library(s) ? threads() : 8;
    return std::max<Index>(64, ((std::max(s.m, s.n) + parts - 1) / parts + 15) / 16 * 16);
}

}  // namespace

void fast::multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Sizes s(a, b, o);
    if (s.batch == 1 && !o.transpose_a && is_skinny(s.m, s.k, s.n))
        return skinny_matmul(
            {a.data(), b.data(), c.data(), s.m, s.k, s.n, o.scale, o.transpose_b, add});
    const bool by_rows = s.m > s.n;
    const Index longer = by_rows ? s.m : s.n;
    const Index width = block_width(s);
    const Index blocks = (longer + width - 1) / width;
    const auto one = [&](Index i) {
        const Index p = i / blocks, first = i % blocks * width;
        const Index count = std::min(width, longer - first);
        const Product product{a.data() + p * s.m * s.k,
                              b.data() + p * s.k * s.n,
                              c.data() + p * s.m * s.n,
                              s,
                              o,
                              add};
        if (by_rows)
            product.block(first, 0, count, s.n);
        else
            product.block(0, first, s.m, count);
    };
    if (s.batch * s.m * s.n * s.k < 1 << 16)  // waking a thread would cost more than the product
        for (Index i = 0; i < s.batch * blocks; ++i) one(i);
    else
        parallel_for(s.batch * blocks, one);
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
