#include "lib/matmul.hpp"

#include <algorithm>
#include <array>

#include "lib/cuda/runtime.hpp"
#include "lib/eigen.hpp"
#include "lib/few_rows.hpp"
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
        bool done = alone;
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

/// `c = scale * op(a) op(b)`, or `c += ...`.
struct Term {
    Tensor* c = nullptr;
    const Tensor* a = nullptr;
    const Tensor* b = nullptr;
    bool add = false;
};

void multiply_few_rows(std::span<const Term> terms, const Sizes& s, const MatmulOptions& o) {
    std::array<FewRowsProduct, most_together> products{};
    for (std::size_t i = 0; i < terms.size(); ++i)
        products[i] = {
            terms[i].a->data(), terms[i].b->data(), terms[i].c->data(), s.m, s.k, s.n, o.scale,
            o.transpose_b,      terms[i].add};
    multiply_few_rows(std::span(products).first(terms.size()));
}

/// Products of the same sizes, one after the other, in one pass of all threads.
void multiply(std::span<const Term> terms, const MatmulOptions& o) {
    const Sizes s = sizes_of(*terms.front().a, *terms.front().b, o);
    const Timed timed(s.batch == 1 ? "matmul" : "matmul, batched");
    for (const Term& t : terms) {
        const Sizes other = sizes_of(*t.a, *t.b, o);
        require(other.result == s.result && other.k == s.k,
                "matmul: products of different sizes, {} with inner size {} and {} with {}",
                s.result, s.k, other.result, other.k);
        require_shape(t.c->shape(), s.result, "matmul", "result");
    }
    if (s.batch == 0) return;
    if (on_cuda()) {
        for (const Term& t : terms)
            cuda::multiply({t.c->on_device(), t.a->on_device(), t.b->on_device(), s.batch, s.m, s.n,
                            s.k, o.transpose_a, o.transpose_b, o.scale, t.add});
        return;
    }
    if (s.batch == 1 && !o.transpose_a && has_few_rows(s.m, s.k, s.n))
        return multiply_few_rows(terms, s, o);
    const bool by_rows = s.m > s.n;
    const Index longer = by_rows ? s.m : s.n;
    const Index width = block_width(s);
    const Index blocks = (longer + width - 1) / width;
    const auto one = [&](Index i) {
        const Index p = i / blocks, first = i % blocks * width;
        const Index count = std::min(width, longer - first);
        for (const Term& t : terms) {
            const Product product{t.a->data() + p * s.m * s.k,
                                  t.b->data() + p * s.k * s.n,
                                  t.c->data() + p * s.m * s.n,
                                  s,
                                  o,
                                  t.add};
            if (by_rows)
                product.block(first, 0, count, s.n);
            else
                product.block(0, first, s.m, count);
        }
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
    multiply(std::array{Term{&c, &a, &b, false}}, options);
    return c;
}

void add_matmul(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions options) {
    multiply(std::array{Term{&c, &a, &b, true}}, options);
}

void matmul_together(std::span<Tensor> c, std::span<const MatmulTerm> terms,
                     MatmulOptions options) {
    require(!terms.empty() && terms.size() <= most_together && c.size() == terms.size(),
            "matmul: {} results of {} products, expected 1 to {}", c.size(), terms.size(),
            most_together);
    std::array<Term, most_together> all;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        c[i] = Tensor(sizes_of(*terms[i].a, *terms[i].b, options).result);
        all[i] = {&c[i], terms[i].a, terms[i].b, false};
    }
    multiply(std::span(all).first(terms.size()), options);
}

Tensor sum_of_products(std::span<const MatmulTerm> terms, MatmulOptions options) {
    require(!terms.empty() && terms.size() <= most_together,
            "matmul: a sum of {} products, expected 1 to {}", terms.size(), most_together);
    Tensor c(sizes_of(*terms.front().a, *terms.front().b, options).result);
    std::array<Term, most_together> all;
    for (std::size_t i = 0; i < terms.size(); ++i) all[i] = {&c, terms[i].a, terms[i].b, i > 0};
    multiply(std::span(all).first(terms.size()), options);
    return c;
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
