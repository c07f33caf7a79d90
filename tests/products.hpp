#pragma once

// What the tests of products, linear maps and gradients share.
#include <limits>
#include <span>
#include <vector>

#include "lib/fast/product.hpp"
#include "tests/support.hpp"

namespace abh {

constexpr double eps = std::numeric_limits<Real>::epsilon();

/// Draws tensors, each from a stream of its own.
struct Draw {
    Random random{7};
    Tensor operator()(const Shape& shape) { return normal(shape, random.stream()); }
};

/// Three loops, sums in double: what products are compared with.
inline void multiply_naively(const Product& p) {
    for (Index i = 0; i < p.m; ++i)
        for (Index j = 0; j < p.n; ++j) {
            double sum = 0;
            for (Index l = 0; l < p.k; ++l)
                sum += static_cast<double>(*p.a.from(i, l).data) *
                       static_cast<double>(*p.b.from(l, j).data);
            Real& c = p.c[i * p.width_c + j];
            c = static_cast<Real>(static_cast<double>(p.scale) * sum) + (p.add ? c : 0);
        }
}

inline Tensor naive_matmul(const Tensor& a, const Tensor& b, MatmulOptions o) {
    const Product any = product_of(a, b, o, false);
    Tensor c(a.shape().with(-2, any.m).with(-1, any.n));
    for (Index p = 0; p < matrices(c.shape()); ++p)
        multiply_naively(any.at(c.data() + p * any.m * any.n, a.data() + p * any.m * any.k,
                                b.data() + p * any.k * any.n));
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
