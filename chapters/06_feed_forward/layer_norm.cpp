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
    return Ways{"layer norm", plain::layer_norm, fast::layer_norm, cuda::layer_norm}(x, norm,
                                                                                     cache);
}

Tensor layer_norm_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache) {
    require_shape(dy.shape(), cache.normalized.shape(), "layer norm backward", "dy");
    const ScopedWay scoped(cache.way);
    return Ways{"layer norm", plain::layer_norm_backward, fast::layer_norm_backward,
                cuda::layer_norm_backward}(dy, norm, cache);
}
// [plain]
Tensor plain::layer_norm(const Tensor& x, const LayerNorm& norm, LayerNorm::Cache* cache) {
    Tensor y(x.shape()), x_hat(x.shape()), inverse_stddev({rows(x.shape())});
    const auto gamma = vector(norm.gamma.value).transpose().array(),
               beta = vector(norm.beta.value).transpose().array();
    for (Index r = 0; r < rows(x.shape()); ++r) {
        // [plain: the row]
        const auto row = matrix(x).row(r).array();
        const Real mean = row.mean();
        const Real variance = (row - mean).square().mean();
        inverse_stddev(r) = 1 / std::sqrt(variance + norm.options().eps);
        matrix(x_hat).row(r) = (row - mean) * inverse_stddev(r);
        matrix(y).row(r) = matrix(x_hat).row(r).array() * gamma + beta;
        // [plain: what is kept]
    }
    if (cache) cache->normalized = x_hat, cache->inverse_stddev = inverse_stddev;
    return y;
}
// [plain: backward]
// forward was:  x_hat = (x - mean) / sigma,  sigma = sqrt(var + eps),  y = gamma * x_hat + beta
// hence:        dgamma = sum of dy * x_hat over rows,  dbeta = sum of dy over rows,
//               dx_hat = dy * gamma,
//               dx = (dx_hat - mean(dx_hat) - x_hat * mean(dx_hat * x_hat)) / sigma
//                     |        |              through var
//                     |        through mean
//                     directly
Tensor plain::layer_norm_backward(const Tensor& dy, LayerNorm& norm,
                                  const LayerNorm::Cache& cache) {
    Tensor dx(dy.shape());
    const auto gamma = vector(norm.gamma.value).transpose().array();
    for (Index r = 0; r < rows(dy.shape()); ++r) {
        const auto dy_r = matrix(dy).row(r).array();
        const auto x_hat = matrix(cache.normalized).row(r).array();
        if (norm.options().affine) {
            vector(norm.gamma.grad()).transpose().array() += dy_r * x_hat;
            vector(norm.beta.grad()).transpose().array() += dy_r;
        }
        // [plain: backward: the row]
        const auto dx_hat = (dy_r * gamma).eval();
        const Real mean = dx_hat.mean(), mean_along = (dx_hat * x_hat).mean();
        matrix(dx).row(r) = (dx_hat - mean - x_hat * mean_along) * cache.inverse_stddev(r);
        // [plain: backward: its result]
    }
    return dx;
}

}  // namespace abh
