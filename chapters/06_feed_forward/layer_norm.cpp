#include "chapters/06_feed_forward/layer_norm.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/06_feed_forward/layer_norm.cuh"
#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [construct]
LayerNorm::LayerNorm(Index d_model, LayerNormOptions options)
    : gain(Tensor::full({d_model}, 1)), shift(Tensor::zeros({d_model})), options_(options) {
    require(d_model >= 1, "layer norm: width {}, expected at least 1", d_model);
    require(options.eps >= 0 && std::isfinite(options.eps),
            "layer norm: epsilon {}, expected 0 or more", options.eps);
}

void LayerNorm::collect(Parameters& list, const std::string& name) {
    if (!options_.learned) return;
    list.push_back({join_name(name, "weight"), &gain});
    list.push_back({join_name(name, "bias"), &shift});
}

void LayerNorm::require_width(const Tensor& x) const {
    const Index n = gain.value.dim(0);
    require(x.rank() >= 1 && x.dim(-1) == n, "layer norm: x has shape {}, expected [..., {}]",
            x.shape(), n);
}
// [one row]
namespace {

using Row = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;
using ConstRow = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, 1>>;

constexpr Index some = 16;  // rows at a time

}  // namespace

/// Returns 1 / sqrt(var + eps). The three rows may be the same.
Real LayerNorm::forward_row(const Real* x, Real* normalized, Real* y) const {
    const Index n = gain.value.dim(0);
    const ConstRow row(x, n);
    Row z(normalized, n);
    const Real mean = row.mean();
    const Real variance = (row - mean).square().mean();
    const Real inverse_stddev = 1 / std::sqrt(variance + options_.eps);
    z = (row - mean) * inverse_stddev;
    Row(y, n) = z * vector(gain.value).array() + vector(shift.value).array();
    return inverse_stddev;
}
// [forward]
Tensor LayerNorm::forward(const Tensor& x, Cache* cache) const {
    const Timed timed("layer norm");
    require_width(x);
    Tensor y(x.shape()), inverse_stddev({rows(x.shape())});
    Tensor normalized = cache ? Tensor(x.shape()) : y;
    if (cache) *cache = {normalized, inverse_stddev};
    if (cuda::takes_rows_of(x.dim(-1))) return cuda::layer_norm(y, cache, x, *this), y;
    const Index n = x.dim(-1);
    parallel_ranges(rows(x.shape()), some, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Real* const row = x.data() + r * n;
            prefetch(row + n, r + 1 < end ? n : 0);
            inverse_stddev(r) = forward_row(row, normalized.data() + r * n, y.data() + r * n);
        }
    });
    return y;
}
// [forward: filled]
Tensor LayerNorm::forward_filled(Tensor x, Cache* cache, const SomeRows& fill) const {
    const Timed timed("layer norm");
    require_width(x);
    const Index n = x.dim(-1);
    Tensor y = cache ? Tensor(x.shape()) : x, inverse_stddev({rows(x.shape())});
    parallel_ranges(rows(x.shape()), some, [&](Index begin, Index end) {
        fill(begin, end, x);
        for (Index r = begin; r < end; ++r) {
            Real* const row = x.data() + r * n;
            inverse_stddev(r) = forward_row(row, row, y.data() + r * n);
        }
    });
    if (cache) *cache = {x, inverse_stddev};
    return y;
}
// [backward]
// forward was:  z = (x - mean) / s,  s = sqrt(var + eps),  y = gain * z + shift
// hence:        dgain = sum of dy * z over rows,  dshift = sum of dy over rows,  g = gain * dy,
//               dx = (g - mean(g) - z * mean(g * z)) / s
//                     |   |         through var
//                     |   through mean
//                     directly
void LayerNorm::backward_row(const Real* dy, const Real* z, Real inverse_stddev, Real* dx) const {
    const Index n = gain.value.dim(0);
    const ConstRow z_row(z, n);
    Row g(dx, n);
    g = ConstRow(dy, n) * vector(gain.value).array();
    const Real mean_g = g.mean(), mean_gz = (g * z_row).mean();
    g = (g - mean_g - z_row * mean_gz) * inverse_stddev;
}

Tensor LayerNorm::backward(const Tensor& dy, const Cache& cache) {
    if (!cuda::takes_rows_of(gain.value.dim(0))) return backward_used(dy, cache, nullptr);
    const Timed timed("layer norm");
    require_shape(dy.shape(), cache.normalized.shape(), "layer norm backward", "dy");
    Tensor dx(dy.shape());
    cuda::layer_norm_backward(dx, *this, dy, cache);
    return dx;
}
// [backward: used]
Tensor LayerNorm::backward_used(const Tensor& dy, const Cache& cache, const SomeRows& use) {
    const Timed timed("layer norm");
    const Tensor& z = cache.normalized;
    require_shape(dy.shape(), z.shape(), "layer norm backward", "dy");
    const Index n = gain.value.dim(0), n_rows = rows(z.shape());
    constexpr Index many = 4 * some;  // rows whose shares of dgain and dshift are added up at once
    Tensor dx(z.shape()), shares = Tensor::zeros({(n_rows + many - 1) / many, 2, n});
    parallel_ranges(n_rows, many, [&](Index first, Index last) {
        Row dgain(&shares(first / many, 0, 0), n), dshift(&shares(first / many, 1, 0), n);
        for (Index begin = first; begin < last; begin += some) {
            const Index end = std::min(last, begin + some);
            for (Index r = begin; r < end; ++r) {
                const ConstRow dy_row(dy.data() + r * n, n), z_row(z.data() + r * n, n);
                dgain += dy_row * z_row;
                dshift += dy_row;
                backward_row(dy_row.data(), z_row.data(), cache.inverse_stddev(r),
                             dx.data() + r * n);
            }
            if (use) use(begin, end, dx);
        }
    });
    if (options_.learned)
        for (Index i = 0; i < shares.dim(0); ++i) {
            vector(gain.grad()).array() += ConstRow(&shares(i, 0, 0), n);
            vector(shift.grad()).array() += ConstRow(&shares(i, 1, 0), n);
        }
    return dx;
}

}  // namespace abh
