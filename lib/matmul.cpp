#include "lib/matmul.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/parallel.hpp"

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
/// `c (+)= scale * op(a) op(b)` for the block of `c` that starts at (row, col).
struct Product {
    const Real* a;
    const Real* b;
    Real* c;
    const Sizes& s;
    const MatmulOptions& o;
    bool add;

    void block(Index row, Index col, Index n_rows, Index n_cols) const {
        const ConstMatrixMap A(a, o.transpose_a ? s.k : s.m, o.transpose_a ? s.m : s.k);
        const ConstMatrixMap B(b, o.transpose_b ? s.n : s.k, o.transpose_b ? s.k : s.n);
        if (o.transpose_a)
            times(A.middleCols(row, n_rows).transpose(), B, row, col, n_rows, n_cols);
        else
            times(A.middleRows(row, n_rows), B, row, col, n_rows, n_cols);
    }

private:
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
/// The result is cut into blocks along its longer side. The cut depends on the sizes alone, so the
/// bits of the result do not depend on the number of threads.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, const MatmulOptions& o, bool add) {
    const Sizes s = sizes_of(a, b, o);
    require_shape(c.shape(), s.result, "matmul", "result");
    if (s.batch == 0) return;
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
