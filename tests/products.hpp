#pragma once

// What the tests of products, linear maps and gradients share.
#include <limits>
#include <span>
#include <vector>

#include "lib/matmul.hpp"
#include "tests/support.hpp"

namespace abh {

constexpr double eps = std::numeric_limits<Real>::epsilon();

/// Draws tensors, each from a stream of its own.
struct Draw {
    Random random{7};
    Tensor operator()(const Shape& shape) { return normal(shape, random.stream()); }
};

/// Three loops, sums in double: what `matmul` is compared with.
inline Tensor naive_matmul(const Tensor& a, const Tensor& b, MatmulOptions o) {
    const Tensor A = o.transpose_a ? transpose(a) : a, B = o.transpose_b ? transpose(b) : b;
    const Index m = A.dim(-2), k = A.dim(-1), n = B.dim(-1);
    const Shape shape = A.shape().with(-1, n);
    Tensor c(shape);
    const Real *const left = A.data(), *const right = B.data();
    Real* const result = c.data();
    for (Index p = 0; p * m * n < c.size(); ++p)
        for (Index i = 0; i < m; ++i)
            for (Index j = 0; j < n; ++j) {
                double sum = 0;
                for (Index l = 0; l < k; ++l)
                    sum += static_cast<double>(left[(p * m + i) * k + l]) *
                           static_cast<double>(right[(p * k + l) * n + j]);
                result[(p * m + i) * n + j] = static_cast<Real>(static_cast<double>(o.scale) * sum);
            }
    return c;
}

struct Operands {
    Tensor a, b;
};

/// The operands of a product `[batch..., m, k] [batch..., k, n]` as the options want them.
inline Operands operands(Draw& draw, std::vector<Index> batch, Index m, Index k, Index n,
                         MatmulOptions o) {
    const auto shape = [&](Index rows_, Index columns) {
        std::vector<Index> sizes = batch;
        sizes.insert(sizes.end(), {rows_, columns});
        return Shape(std::span<const Index>(sizes));
    };
    return {draw(o.transpose_a ? shape(k, m) : shape(m, k)),
            draw(o.transpose_b ? shape(n, k) : shape(k, n))};
}

inline Tensor matmul(const Operands& factors, const MatmulOptions& o) {
    return matmul(factors.a, factors.b, o);
}

inline const MatmulOptions all_forms[] = {
    {false, false, 1}, {true, false, 1}, {false, true, Real(0.5)}, {true, true, -2}};

}  // namespace abh
