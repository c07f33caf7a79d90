#include "chapters/06_feed_forward/layer_norm.hpp"

#include <cmath>

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(layer_norm) layer_norm;
decltype(layer_norm_backward) layer_norm_backward;
}  // namespace plain
namespace fast {
decltype(layer_norm) layer_norm;
decltype(layer_norm_backward) layer_norm_backward;
}  // namespace fast
namespace cuda {
decltype(layer_norm) layer_norm;
decltype(layer_norm_backward) layer_norm_backward;
}  // namespace cuda
// [construct]
LayerNorm::LayerNorm(Index d_model, LayerNormOptions options)
    : gamma(Tensor::full({d_model}, 1)), beta(Tensor::zeros({d_model})), options_(options) {
    require(d_model >= 1, "layer norm: width {}, expected at least 1", d_model);
    require(options.eps >= 0 && std::isfinite(options.eps),
            "layer norm: epsilon {}, expected 0 or more", options.eps);
}

void LayerNorm::collect(Parameters& list, const std::string& name) {
    if (!options_.affine) return;
    list.push_back({join_name(name, "weight"), &gamma});
    list.push_back({join_name(name, "bias"), &beta});
}
// [operation]
Tensor LayerNorm::forward(const Tensor& x, Cache* cache) const {
    return layer_norm(x, *this, cache);
}

Tensor LayerNorm::backward(const Tensor& dy, const Cache& cache) {
    return layer_norm_backward(dy, *this, cache);
}

Tensor layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    require(x.rank() >= 1 && x.dim(-1) == norm.d_model(),
            "layer norm: x has shape {}, expected [..., {}]", x.shape(), norm.d_model());
    if (cache) cache->way = way();
    static constexpr Ways ways{"layer norm", plain::layer_norm, fast::layer_norm, cuda::layer_norm};
    return ways(x, norm, cache);
}

Tensor layer_norm_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache) {
    require_shape(dy.shape(), cache.normalized.shape(), "layer norm backward", "dy");
    const Following following(cache.way);
    static constexpr Ways ways{"layer norm", plain::layer_norm_backward, fast::layer_norm_backward,
                               cuda::layer_norm_backward};
    return ways(dy, norm, cache);
}
// [plain]
Tensor plain::layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    Tensor y(x.shape()), z(x.shape()), inverse_stddev({rows(x.shape())});
    const auto gamma = vector(norm.gamma.value).transpose().array(),
               beta = vector(norm.beta.value).transpose().array();
    for (Index r = 0; r < rows(x.shape()); ++r) {
        const auto row = matrix(x).row(r).array();
        const Real mean = row.mean();
        const Real variance = (row - mean).square().mean();
        inverse_stddev(r) = 1 / std::sqrt(variance + norm.options().eps);
        matrix(z).row(r) = (row - mean) * inverse_stddev(r);
        matrix(y).row(r) = matrix(z).row(r).array() * gamma + beta;
    }
    if (cache) cache->normalized = z, cache->inverse_stddev = inverse_stddev;
    return y;
}
// [plain: backward]
// forward was:  z = (x - mean) / s,  s = sqrt(var + eps),  y = gamma * z + beta
// hence:        dgamma = sum of dy * z over rows,  dbeta = sum of dy over rows,  g = gamma * dy,
//               dx = (g - mean(g) - z * mean(g * z)) / s
//                     |   |         through var
//                     |   through mean
//                     directly
Tensor plain::layer_norm_backward(const Tensor& dy, LayerNorm& norm,
                                  const LayerNorm::Cache& cache) {
    Tensor dx(dy.shape());
    const auto gamma = vector(norm.gamma.value).transpose().array();
    for (Index r = 0; r < rows(dy.shape()); ++r) {
        const auto dy_r = matrix(dy).row(r).array(), z = matrix(cache.normalized).row(r).array();
        const auto g = (gamma * dy_r).eval();
        const Real mean_g = g.mean(), mean_gz = (g * z).mean();
        matrix(dx).row(r) = (g - mean_g - z * mean_gz) * cache.inverse_stddev(r);
        if (!norm.options().affine) continue;
        vector(norm.gamma.grad()).transpose().array() += dy_r * z;
        vector(norm.beta.grad()).transpose().array() += dy_r;
    }
    return dx;
}

}  // namespace abh
