#include "chapters/06_feed_forward/layer_norm.hpp"

#include <cmath>

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
// [forward]
Tensor LayerNorm::forward(const Tensor& x, Cache* cache) const {
    const Timed timed("layer norm");
    const Index n = gain.value.dim(0);
    require(x.rank() >= 1 && x.dim(-1) == n, "layer norm: x has shape {}, expected [..., {}]",
            x.shape(), n);
    Tensor normalized(x.shape()), inverse_stddev({rows(x.shape())}), y(x.shape());
    parallel_ranges(rows(x.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const auto row = matrix(x).row(r).array();
            const Real mean = row.mean();
            const Real variance = (row - mean).square().mean();
            const Real inverse = 1 / std::sqrt(variance + options_.eps);
            inverse_stddev(r) = inverse;
            matrix(normalized).row(r) = (row - mean) * inverse;
            matrix(y).row(r) =
                matrix(normalized).row(r).array() * vector(gain.value).transpose().array() +
                vector(shift.value).transpose().array();
        }
    });
    if (cache) *cache = {normalized, inverse_stddev};
    return y;
}
// [backward]
// forward was:  z = (x - mean) / s,  s = sqrt(var + eps),  y = gain * z + shift
// hence:        dgain = sum of dy * z over rows,  dshift = sum of dy over rows,  g = gain * dy,
//               dx = (g - mean(g) - z * mean(g * z)) / s
//                     |   |         through var
//                     |   through mean
//                     directly
Tensor LayerNorm::backward(const Tensor& dy, const Cache& cache) {
    const Timed timed("layer norm");
    const Tensor& z = cache.normalized;
    require_shape(dy.shape(), z.shape(), "layer norm backward", "dy");
    if (options_.learned) {
        Tensor dy_z(dy.shape());
        parallel_ranges(dy.size(), 1 << 15, [&](Index begin, Index end) {
            const Index n = end - begin;
            vector(dy_z).segment(begin, n) =
                vector(dy).segment(begin, n).cwiseProduct(vector(z).segment(begin, n));
        });
        add_column_sums(gain.grad(), dy_z);
        add_column_sums(shift.grad(), dy);
    }
    Tensor dx(z.shape());
    parallel_ranges(rows(z.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const auto z_row = matrix(z).row(r).array();
            auto g = matrix(dx).row(r).array();
            g = matrix(dy).row(r).array() * vector(gain.value).transpose().array();
            const Real mean_g = g.mean(), mean_gz = (g * z_row).mean();
            g = (g - mean_g - z_row * mean_gz) * cache.inverse_stddev(r);
        }
    });
    return dx;
}

}  // namespace abh
