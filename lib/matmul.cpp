#include "lib/matmul.hpp"

#include <algorithm>
#include <array>

#include "lib/cuda/runtime.hpp"
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
    /// On the calling thread alone: our pool has the threads.
    bool block_by_library([[maybe_unused]] Index row, [[maybe_unused]] Index col,
                          [[maybe_unused]] Index n_rows, [[maybe_unused]] Index n_cols) const {
#ifdef ABH_BY_LIBRARY
        thread_local const bool alone = (omp_set_num_threads(1), true);
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
constexpr Index lanes = 16;                             // rows of `a` that lie side by side
using Lanes = Eigen::Array<Real, lanes, 1>;             // a number of each of them
constexpr Index numbers_in_a_line = 64 / sizeof(Real);  // what memory sends at once

/// `c (+)= scale * a op(b)` for an `a` of few rows: a training step of some words, or decoding. Its
/// time is that of reading `b`, once and in order. Sixteen rows of `a` lie side by side in a
/// vector, which a number of `b` multiplies; eight rows of `b` are worked on at once, while the
/// next eight are on their way.
class FewRows {
public:
    static bool fits(const Sizes& s, const MatmulOptions& o) {
        return !o.transpose_a && s.batch == 1 && s.m <= 64 && s.k * s.n >= 1 << 14;
    }
    /// Columns of `c` for one call.
    static Index columns_at_once(const MatmulOptions& o) { return o.transpose_b ? 64 : 256; }

    FewRows(const Product& p)
        : p_(p), groups_((p.s.m + lanes - 1) / lanes), a_({groups_, p.s.k, lanes}) {
        Real* const to = a_.data();
        for (Index g = 0; g < groups_; ++g)
            for (Index r = 0; r < lanes; ++r)
                for (Index i = 0; i < p.s.k; ++i)
                    to[(g * p.s.k + i) * lanes + r] =
                        r < rows_of(g) ? p.o.scale * p.a[(g * lanes + r) * p.s.k + i] : 0;
    }

    /// Columns `first` to `last - 1` of `c`, `columns_at_once` or fewer.
    void columns(Index first, Index last) const {
        Index g = 0;
        for (; g + 2 <= groups_; g += 2) groups<2>(g, first, last);
        for (; g < groups_; ++g) groups<1>(g, first, last);
    }

private:
    static constexpr Index height = 8;  // rows of `b` at once
    using Sums = std::array<Lanes, 512>;

    Index rows_of(Index g) const { return std::min(lanes, p_.s.m - g * lanes); }

    /// `G` groups of rows from group `g` on.
    template <int G>
    void groups(Index g, Index first, Index last) const {
        Sums sums;  // [last - first, G]
        std::fill_n(sums.begin(), G * (last - first), Lanes::Zero());
        if (p_.o.transpose_b)
            dot_products<G>(&a_(g, 0, 0), first, last, sums.data());
        else
            sums_of_rows<G>(&a_(g, 0, 0), first, last, sums.data());
        for (Index i = 0; i < G; ++i)
            for (Index r = 0; r < rows_of(g + i); ++r)
                for (Index j = first; j < last; ++j) {
                    const Real sum = sums[static_cast<std::size_t>(G * (j - first) + i)](r);
                    Real& y = p_.c[((g + i) * lanes + r) * p_.s.n + j];
                    y = p_.add ? y + sum : sum;
                }
    }
    // [few rows: b transposed]
    /// Column j of `c` are dot products with row j of `b`.
    template <int G>
    void dot_products(const Real* a, Index first, Index last, Lanes* sums) const {
        constexpr Index deep = 256;  // so much of two groups fits into the first cache
        for (Index begin = 0; begin < p_.s.k; begin += deep) {
            const Index end = std::min(p_.s.k, begin + deep);
            Index j = first;
            for (; j + height <= last; j += height)
                dot_products<G, height>(a, j, begin, end, sums + G * (j - first));
            for (; j < last; ++j) dot_products<G, 1>(a, j, begin, end, sums + G * (j - first));
        }
    }

    template <int G, int H>
    void dot_products(const Real* a, Index j, Index begin, Index end, Lanes* sums) const {
        const Real* const b = p_.b + j * p_.s.k;
        Lanes sum[H][G];
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) sum[h][i] = sums[h * G + i];
        for (Index p = begin; p < end;) {
            for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p_.s.k + p, 0, 2);
            for (const Index next = std::min(end, p + numbers_in_a_line); p < next; ++p) {
                Lanes x[G];
                for (int i = 0; i < G; ++i) x[i] = of_group(a, i, p);
#pragma GCC unroll 8
                for (int h = 0; h < H; ++h)
#pragma GCC unroll 2
                    for (int i = 0; i < G; ++i) sum[h][i] += b[h * p_.s.k + p] * x[i];
            }
        }
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) sums[h * G + i] = sum[h][i];
    }
    // [few rows: b as it is]
    /// Row p of `b`, times number p of each row of `a`, adds to every column of `c`.
    template <int G>
    void sums_of_rows(const Real* a, Index first, Index last, Lanes* sums) const {
        Index p = 0;
        for (; p + height <= p_.s.k; p += height) add_rows<G, height>(a, p, first, last, sums);
        for (; p < p_.s.k; ++p) add_rows<G, 1>(a, p, first, last, sums);
    }

    template <int G, int H>
    void add_rows(const Real* a, Index p, Index first, Index last, Lanes* sums) const {
        const Real* const b = p_.b + p * p_.s.n;
        Lanes x[H][G];
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) x[h][i] = of_group(a, i, p + h);
        for (Index j = first; j < last;) {
            for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p_.s.n + j, 0, 2);
            for (const Index next = std::min(last, j + numbers_in_a_line); j < next; ++j)
#pragma GCC unroll 2
                for (int i = 0; i < G; ++i) {
                    Lanes sum = sums[G * (j - first) + i];
#pragma GCC unroll 8
                    for (int h = 0; h < H; ++h) sum += b[h * p_.s.n + j] * x[h][i];
                    sums[G * (j - first) + i] = sum;
                }
        }
    }

    /// Number `p` of each row of group `i`.
    Lanes of_group(const Real* a, Index i, Index p) const {
        return Eigen::Map<const Lanes>(a + (i * p_.s.k + p) * lanes);
    }

    const Product& p_;
    Index groups_;
    Tensor a_;  // [groups, k, lanes], times scale; zeros where there is no row
};
// [very few rows]
/// The same where `b` is transposed and `a` has `M` rows, at most four: most of sixteen would be
/// empty. So here sixteen numbers of a row lie in a vector, whose sum is taken at the end.
template <int M>
class VeryFewRows {
public:
    explicit VeryFewRows(const Product& p) : p_(p) {}

    void columns(Index first, Index last) const {
        Index at = first;
        for (; at + width <= last; at += width) tile<width>(at);
        for (; at < last; ++at) tile<1>(at);
    }

private:
    static constexpr int width = 4;  // rows of `b` at once

    template <int W>
    void tile(Index column) const {
        using Numbers = Eigen::Map<const Lanes>;
        const Index k = p_.s.k, whole = k / lanes * lanes;
        const Real* const b = p_.b + column * k;
        Lanes sum[M][W];
        for (auto& row : sum)
            for (Lanes& lane : row) lane.setZero();
        for (Index at = 0; at < whole; at += lanes) {
            for (int w = 0; w < W; ++w) __builtin_prefetch(b + (W + w) * k + at, 0, 2);
            Lanes x[M];
            for (int m = 0; m < M; ++m) x[m] = Numbers(p_.a + m * k + at);
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) {
                const Lanes y = Numbers(b + w * k + at);
#pragma GCC unroll 4
                for (int m = 0; m < M; ++m) sum[m][w] += x[m] * y;
            }
        }
        for (int m = 0; m < M; ++m)
            for (int w = 0; w < W; ++w) {
                Real product = sum_of(sum[m][w]);
                for (Index at = whole; at < k; ++at) product += p_.a[m * k + at] * b[w * k + at];
                Real& y = p_.c[m * p_.s.n + column + w];
                y = (p_.add ? y : 0) + p_.o.scale * product;
            }
    }

    /// Sixteen numbers by eights and fours: always in one order.
    static Real sum_of(const Lanes& x) {
        const Eigen::Array<Real, 8, 1> eight = x.template head<8>() + x.template tail<8>();
        return (eight.template head<4>() + eight.template tail<4>()).sum();
    }

    const Product& p_;
};

/// Columns `first` to `last - 1` of a product of four rows or fewer.
void very_few_rows(const Product& p, Index first, Index last) {
    switch (p.s.m) {
        case 1:
            return VeryFewRows<1>(p).columns(first, last);
        case 2:
            return VeryFewRows<2>(p).columns(first, last);
        case 3:
            return VeryFewRows<3>(p).columns(first, last);
        default:
            return VeryFewRows<4>(p).columns(first, last);
    }
}
// [all products]
/// The width of the blocks into which the longer side of the result is cut. Eigen's are cut by size
/// alone, so the result has the same bits for any number of threads. oneDNN rearranges the operands
/// of every block anew, so there is one for each thread; where a block ends, the bits may differ.
Index block_width(const Sizes& s) {
    const Index parts = by_library(s) ? threads() : 8;
    return std::max<Index>(64, ((std::max(s.m, s.n) + parts - 1) / parts + 15) / 16 * 16);
}

void multiply(Tensor& c, const Tensor& a, const Tensor& b, const MatmulOptions& o, bool add) {
    const Sizes s = sizes_of(a, b, o);
    const Timed timed(s.batch == 1 ? "matmul" : "matmul, batched");
    require_shape(c.shape(), s.result, "matmul", "result");
    if (s.batch == 0) return;
    if (on_cuda())
        return cuda::multiply({c.on_device(), a.on_device(), b.on_device(), s.batch, s.m, s.n, s.k,
                               o.transpose_a, o.transpose_b, o.scale, add});
    if (FewRows::fits(s, o)) {
        const Product product{a.data(), b.data(), c.data(), s, o, add};
        if (s.m <= 4 && o.transpose_b)
            return parallel_ranges(s.n, FewRows::columns_at_once(o), [&](Index first, Index last) {
                very_few_rows(product, first, last);
            });
        const FewRows few(product);
        parallel_ranges(s.n, FewRows::columns_at_once(o),
                        [&](Index first, Index last) { few.columns(first, last); });
        return;
    }
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

}  // namespace
// [interface]
bool products_by_library() {
    return with_library;
}

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
