#include "lib/matmul.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

#if defined(ABH_ONEDNN) && !defined(ABH_DOUBLE)
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#define ABH_BY_LIBRARY
#endif

namespace abh {
namespace {
// [sizes]
/// The sizes of one batched product, checked.
struct Sizes {
    Index batch, m, k, n;
    Shape result;
};

Sizes sizes_of(const Tensor& a, const Tensor& b, const MatmulOptions& o) {
    const auto check = [&](bool condition, const char* why) {
        require(condition, "matmul: {}{} times {}{}: {}", a.shape(), o.transpose_a ? "^T" : "",
                b.shape(), o.transpose_b ? "^T" : "", why);
    };
    check(a.rank() >= 2 && a.rank() == b.rank(), "ranks differ or are below 2");
    for (int axis = 0; axis < a.rank() - 2; ++axis)
        check(a.dim(axis) == b.dim(axis), "leading axes differ");
    const Index m = o.transpose_a ? a.dim(-1) : a.dim(-2);
    const Index k = o.transpose_a ? a.dim(-2) : a.dim(-1);
    const Index n = o.transpose_b ? b.dim(-2) : b.dim(-1);
    check(k == (o.transpose_b ? b.dim(-1) : b.dim(-2)), "inner sizes differ");
    const Shape result = a.shape().with(-2, m).with(-1, n);
    return {m * n == 0 ? 0 : result.size() / (m * n), m, k, n, result};
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
        if (by_library(row, col, n_rows, n_cols)) return;
        const ConstMatrixMap A(a, o.transpose_a ? s.k : s.m, o.transpose_a ? s.m : s.k);
        const ConstMatrixMap B(b, o.transpose_b ? s.n : s.k, o.transpose_b ? s.k : s.n);
        if (o.transpose_a)
            times(A.middleCols(row, n_rows).transpose(), B, row, col, n_rows, n_cols);
        else
            times(A.middleRows(row, n_rows), B, row, col, n_rows, n_cols);
    }

private:
    /// The same by oneDNN, where the book was built with it, in single precision.
    bool by_library([[maybe_unused]] Index row, [[maybe_unused]] Index col,
                    [[maybe_unused]] Index n_rows, [[maybe_unused]] Index n_cols) const {
#ifdef ABH_BY_LIBRARY
        if (n_rows * n_cols * s.k < 1 << 18) return false;               // Eigen begins sooner
        thread_local const bool alone = (omp_set_num_threads(1), true);  // our pool has the threads
        const Index lda = o.transpose_a ? s.m : s.k, ldb = o.transpose_b ? s.k : s.n;
        const Real* const from_a = a + (o.transpose_a ? row : row * lda);
        const Real* const from_b = b + (o.transpose_b ? col * ldb : col);
        return alone && dnnl_sgemm(o.transpose_a ? 'T' : 'N', o.transpose_b ? 'T' : 'N', n_rows,
                                   n_cols, s.k, o.scale, from_a, lda, from_b, ldb,
                                   add ? 1.0f : 0.0f, c + row * s.n + col, s.n) == dnnl_success;
#else
        return false;
#endif
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
// [few rows]
/// `c (+)= scale * a b^T` for an `a` of few rows: a training step of some words, or decoding. Its
/// time is that of reading `b`, once and in order, so the next rows of `b` are on their way while
/// some are worked on. Each number of `b` multiplies sixteen rows of `a`, which lie side by side in
/// a vector.
class FewRows {
public:
    static bool fits(const Sizes& s, const MatmulOptions& o) {
        return !o.transpose_a && o.transpose_b && s.batch == 1 && s.m <= 64 && s.k * s.n >= 1 << 14;
    }

    FewRows(const Real* a, const Real* b, Real* c, const Sizes& s, Real scale, bool add)
        : b_(b),
          c_(c),
          s_(s),
          add_(add),
          groups_((s.m + lanes - 1) / lanes),
          a_({groups_, s.k, lanes}) {
        for (Index g = 0; g < groups_; ++g)
            for (Index i = 0; i < s.k; ++i)
                for (Index r = 0; r < lanes; ++r)
                    a_(g, i, r) = r < rows_of(g) ? scale * a[(g * lanes + r) * s.k + i] : 0;
    }

    /// Columns `first` to `last - 1` of `c`: that many rows of `b`.
    void columns(Index first, Index last) const {
        Index j = first;
        for (; j + height <= last; j += height) block<height>(j);
        for (; j < last; ++j) block<1>(j);
    }

private:
    static constexpr Index lanes = 16, height = 8, line = 64 / sizeof(Real);
    using Lanes = Eigen::Array<Real, lanes, 1>;

    Index rows_of(Index g) const { return std::min(lanes, s_.m - g * lanes); }

    template <int H>
    void block(Index j) const {
        const Real* const b = b_ + j * s_.k;
        for (Index g = 0; g < groups_; ++g) {
            Lanes sum[H];
            for (Lanes& lane : sum) lane.setZero();
            const Real* const a = &a_(g, 0, 0);
            for (Index begin = 0; begin < s_.k; begin += line) {
                for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * s_.k + begin);
                for (Index i = begin; i < std::min(s_.k, begin + line); ++i) {
                    const Lanes x = Eigen::Map<const Lanes>(a + i * lanes);
#pragma GCC unroll 8
                    for (int h = 0; h < H; ++h) sum[h] += b[h * s_.k + i] * x;
                }
            }
            for (Index r = 0; r < rows_of(g); ++r)
                for (int h = 0; h < H; ++h) {
                    Real& y = c_[(g * lanes + r) * s_.n + j + h];
                    y = add_ ? y + sum[h](r) : sum[h](r);
                }
        }
    }

    const Real* b_;
    Real* c_;
    const Sizes& s_;
    bool add_;
    Index groups_;
    Tensor a_;  // [groups, k, lanes], times scale; zeros where there is no row
};
// [all products]
/// The result is cut into blocks along its longer side. The cut depends on the sizes alone, so the
/// bits of the result do not depend on the number of threads.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, const MatmulOptions& o, bool add) {
    const Sizes s = sizes_of(a, b, o);
    const Timed timed(s.batch == 1 ? "matmul" : "matmul, batched");
    require_shape(c.shape(), s.result, "matmul", "result");
    if (s.batch == 0) return;
    if (FewRows::fits(s, o)) {
        const FewRows product(a.data(), b.data(), c.data(), s, o.scale, add);
        parallel_ranges(s.n, 64, [&](Index first, Index last) { product.columns(first, last); });
        return;
    }
    const bool by_rows = s.m > s.n;
    const Index longer = by_rows ? s.m : s.n;
    const Index width = std::max<Index>(64, (longer / 8 + 15) / 16 * 16);
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

}  // namespace
// [interface]
Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options) {
    Tensor c(sizes_of(a, b, options).result);
    multiply(c, a, b, options, false);
    return c;
}

void add_matmul(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options) {
    multiply(c, a, b, options, true);
}

void matmul_rows(Real* rows, Index first, Index count, const Tensor& a, const Tensor& b,
                 MatmulOptions options, bool add) {
    const Sizes s = sizes_of(a, b, options);
    // block() addresses row `first` of the whole result
    const Product product{a.data(), b.data(), rows - first * s.n, s, options, add};
    product.block(first, 0, count, s.n);
}
// [backward]
// forward was:  c = s A B,  A = op(a), B = op(b)
// hence:        dA = s dc B^T,  dB = s A^T dc,  and da = op(dA), db = op(dB)
MatmulGradients matmul_backward(const Tensor& dc, const Tensor& a, const Tensor& b,
                                MatmulOptions o) {
    require_shape(dc.shape(), sizes_of(a, b, o).result, "matmul_backward", "dc");
    const bool ta = o.transpose_a, tb = o.transpose_b;
    return {ta ? matmul(b, dc, {tb, true, o.scale}) : matmul(dc, b, {false, !tb, o.scale}),
            tb ? matmul(dc, a, {true, ta, o.scale}) : matmul(a, dc, {!ta, false, o.scale})};
}

}  // namespace abh
