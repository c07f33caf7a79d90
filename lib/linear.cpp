#include "lib/linear.hpp"

#include <cmath>

#include "lib/eigen.hpp"
#include "lib/linear.cuh"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [construct]
Linear::Linear(Index d_in, Index d_out, bool with_bias, Random& random) {
    require(d_in >= 1 && d_out >= 1, "linear: d_in {} and d_out {} must be at least 1", d_in,
            d_out);
    const Real bound = 1 / std::sqrt(static_cast<Real>(d_in));
    weight = Parameter(uniform({d_out, d_in}, -bound, bound, random.stream()));
    if (with_bias) bias = Parameter(uniform({d_out}, -bound, bound, random.stream()));
}

void Linear::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &weight});
    if (has_bias()) list.push_back({join_name(name, "bias"), &bias});
}
// [forward]
namespace {

/// All leading axes as one: `[..., n]` becomes `[rows, n]`.
Tensor flat(const Tensor& x) {
    return x.reshape({rows(x.shape()), x.dim(-1)});
}

/// One pass over the product. @param bias  may be empty
void add_bias(Tensor& y, const Tensor& bias, bool relu) {
    const auto cut = [](Real v) { return v < 0 ? Real(0) : v; };
    parallel_ranges(y.dim(0), 32, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            auto row = matrix(y).row(r).array();
            if (bias.empty())
                row = row.unaryExpr(cut);
            else if (relu)
                row = (row + vector(bias).transpose().array()).unaryExpr(cut);
            else
                row += vector(bias).transpose().array();
        }
    });
}

}  // namespace

/// `x W^T`, plus the bias; with `relu`, what is negative becomes 0.
Tensor Linear::product(const Tensor& x, Cache* cache, bool relu) const {
    const Timed timed("linear (bias)");
    require(x.rank() >= 1 && x.dim(-1) == d_in(), "linear: x has shape {}, expected [..., {}]",
            x.shape(), d_in());
    Tensor y = matmul(flat(x), weight.value, {.transpose_b = true});  // [rows, d_out]
    if (cache) cache->x = x;
    if (has_bias() || relu) {
        if (on_cuda())
            cuda::add_bias(y, bias.value, relu);
        else
            add_bias(y, bias.value, relu);
    }
    return y.reshape(x.shape().with(-1, d_out()));
}

Tensor Linear::forward(const Tensor& x, Cache* cache) const {
    return product(x, cache, false);
}

Tensor Linear::forward_relu(const Tensor& x, Cache* cache) const {
    return product(x, cache, true);
}
// [backward]
// forward was:  y = x W^T + b
// hence:        dx = dy W,  dW = dy^T x,  db = sum of dy over rows
Tensor Linear::backward(const Tensor& dy, const Cache& cache) {
    const Timed timed("linear (bias)");
    require_shape(dy.shape(), cache.x.shape().with(-1, d_out()), "linear backward", "dy");
    weight.add_product(flat(dy), flat(cache.x));  // [d_out, d_in]
    if (has_bias()) add_column_sums(bias.grad(), dy);
    return matmul(flat(dy), weight.value).reshape(cache.x.shape());
}

}  // namespace abh
