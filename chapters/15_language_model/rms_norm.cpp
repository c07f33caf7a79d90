#include "chapters/15_language_model/rms_norm.hpp"

#include <cmath>

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(rms_norm) rms_norm;
decltype(rms_norm_backward) rms_norm_backward;
}  // namespace plain
namespace fast {
decltype(rms_norm) rms_norm;
decltype(rms_norm_backward) rms_norm_backward;
}  // namespace fast
// [construct]
RmsNorm::RmsNorm(Index d_model, Real eps) : gamma(Tensor::full({d_model}, 1)), eps_(eps) {
    require(d_model >= 1, "rms norm: width {}, expected at least 1", d_model);
    require(eps >= 0 && std::isfinite(eps), "rms norm: epsilon {}, expected 0 or more", eps);
}

void RmsNorm::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &gamma});
}
// [operation]
Tensor RmsNorm::forward(const Tensor& x, Cache* cache) const {
    return rms_norm(x, *this, cache);
}

Tensor RmsNorm::backward(const Tensor& dy, const Cache& cache) {
    return rms_norm_backward(dy, *this, cache);
}

Tensor rms_norm(const Tensor& x, const RmsNorm& norm, RmsNorm::Cache* cache) {
    const Index d_model = norm.gamma.value.size();
    require(x.rank() >= 1 && x.dim(-1) == d_model, "rms norm: x has shape {}, expected [..., {}]",
            x.shape(), d_model);
    if (cache) cache->way = way();
    return Ways{"rms norm", plain::rms_norm, fast::rms_norm}(x, norm, cache);
}

Tensor rms_norm_backward(const Tensor& dy, RmsNorm& norm, const RmsNorm::Cache& cache) {
    require_shape(dy.shape(), cache.normalized.shape(), "rms norm backward", "dy");
    const ScopedWay scoped(cache.way);
    return Ways{"rms norm", plain::rms_norm_backward, fast::rms_norm_backward}(dy, norm, cache);
}
// [forward]
Tensor plain::rms_norm(const Tensor& x, const RmsNorm& norm, RmsNorm::Cache* cache) {
    Tensor y(x.shape()), x_hat(x.shape()), inverse_rms({rows(x.shape())});
    const auto gamma = vector(norm.gamma.value).transpose().array();
    for (Index r = 0; r < rows(x.shape()); ++r) {
        // [forward: the row]
        const auto row = matrix(x).row(r).array();
        inverse_rms(r) = 1 / std::sqrt(row.square().mean() + norm.eps());
        matrix(x_hat).row(r) = row * inverse_rms(r);
        matrix(y).row(r) = matrix(x_hat).row(r).array() * gamma;
        // [forward: keep]
    }
    if (cache) cache->normalized = x_hat, cache->inverse_rms = inverse_rms;
    return y;
}
// [backward]
// forward was:  x_hat = x / rms,  rms = sqrt(mean(x^2) + eps),  y = gamma * x_hat
// hence:        dgamma = sum of dy * x_hat over rows,  dx_hat = dy * gamma,
//               dx = (dx_hat - x_hat * mean(dx_hat * x_hat)) / rms
//                     |        through rms
//                     directly
Tensor plain::rms_norm_backward(const Tensor& dy, RmsNorm& norm, const RmsNorm::Cache& cache) {
    Tensor dx(dy.shape());
    const auto gamma = vector(norm.gamma.value).transpose().array();
    for (Index r = 0; r < rows(dy.shape()); ++r) {
        const auto dy_r = matrix(dy).row(r).array();
        const auto x_hat = matrix(cache.normalized).row(r).array();
        vector(norm.gamma.grad()).transpose().array() += dy_r * x_hat;
        // [backward: the row]
        const auto dx_hat = (dy_r * gamma).eval();
        const Real along = (dx_hat * x_hat).mean();
        matrix(dx).row(r) = (dx_hat - x_hat * along) * cache.inverse_rms(r);
        // [backward: its result]
    }
    return dx;
}

}  // namespace abh
