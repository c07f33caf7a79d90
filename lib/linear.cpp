#include "lib/linear.hpp"

#include <array>
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

void Linear::require_width(const Tensor& x) const {
    require(x.rank() >= 1 && x.dim(-1) == d_in(), "linear: x has shape {}, expected [..., {}]",
            x.shape(), d_in());
}

/// Adds the bias to `x W^T`; with `relu`, what is negative becomes 0.
Tensor Linear::finish(Tensor y, const Tensor& x, Cache* cache, bool relu) const {
    if (cache) cache->x = x;
    if (has_bias() || relu) {
        if (on_cuda())
            cuda::add_bias(y, bias.value, relu);
        else
            add_bias(y, bias.value, relu);
    }
    return y.reshape(x.shape().with(-1, d_out()));
}

Tensor Linear::product(const Tensor& x, Cache* cache, bool relu) const {
    const Timed timed("linear (bias)");
    require_width(x);
    return finish(matmul(flat(x), weight.value, {.transpose_b = true}), x, cache, relu);
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
void Linear::add_to_gradients(const Tensor& dy, const Cache& cache) {
    require_shape(dy.shape(), cache.x.shape().with(-1, d_out()), "linear backward", "dy");
    weight.add_product(flat(dy), flat(cache.x));  // [d_out, d_in]
    if (has_bias()) add_column_sums(bias.grad(), dy);
}

Tensor Linear::backward(const Tensor& dy, const Cache& cache) {
    const Timed timed("linear (bias)");
    add_to_gradients(dy, cache);
    return matmul(flat(dy), weight.value).reshape(cache.x.shape());
}
// [together]
namespace {

void require_together(std::size_t maps, std::size_t caches, std::size_t tensors) {
    require(maps >= 1 && maps <= most_together && caches == maps && tensors == maps,
            "linear: {} maps together with {} caches and {} tensors, expected 1 to {} of each",
            maps, caches, tensors, most_together);
}

}  // namespace

void Linear::forward_together(std::span<const Linear* const> maps, const Tensor& x,
                              std::span<Cache* const> caches, std::span<Tensor> y) {
    const Timed timed("linear (bias)");
    require_together(maps.size(), caches.size(), y.size());
    for (const Linear* map : maps) map->require_width(x);
    const Tensor rows_of_x = flat(x);
    std::array<MatmulTerm, most_together> terms;
    for (std::size_t i = 0; i < maps.size(); ++i) {
        terms[i] = {&rows_of_x, &maps[i]->weight.value};
    }
    matmul_together(y, std::span(terms).first(maps.size()), {.transpose_b = true});
    for (std::size_t i = 0; i < maps.size(); ++i) y[i] = maps[i]->finish(y[i], x, caches[i], false);
}

// forward was:  y_i = x W_i^T + b_i
// hence:        dx = sum_i dy_i W_i
Tensor Linear::backward_together(std::span<Linear* const> maps, std::span<const Tensor> dy,
                                 std::span<const Cache* const> caches) {
    const Timed timed("linear (bias)");
    require_together(maps.size(), caches.size(), dy.size());
    std::array<Tensor, most_together> rows_of_dy;
    std::array<MatmulTerm, most_together> terms;
    for (std::size_t i = 0; i < maps.size(); ++i) {
        maps[i]->add_to_gradients(dy[i], *caches[i]);
        rows_of_dy[i] = flat(dy[i]);
        terms[i] = {&rows_of_dy[i], &maps[i]->weight.value};
    }
    return sum_of_products(std::span(terms).first(maps.size())).reshape(caches[0]->x.shape());
}

}  // namespace abh
