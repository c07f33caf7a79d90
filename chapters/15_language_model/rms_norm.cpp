#include "chapters/15_language_model/rms_norm.hpp"

#include <cmath>

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
// [construct]
RmsNorm::RmsNorm(Index d_model, Real eps) : gamma(Tensor::full({d_model}, 1)), eps_(eps) {
    require(d_model >= 1, "rms norm: width {}, expected at least 1", d_model);
    require(eps >= 0 && std::isfinite(eps), "rms norm: epsilon {}, expected 0 or more", eps);
}

void RmsNorm::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &gamma});
}
// [forward]
Tensor RmsNorm::forward(const Tensor& x, Cache* cache) const {
    require(x.rank() >= 1 && x.dim(-1) == gamma.value.size(),
            "rms norm: x has shape {}, expected [..., {}]", x.shape(), gamma.value.size());
    const Timed timed("rms norm");
    Tensor y(x.shape()), x_hat(x.shape()), inverse_rms({rows(x.shape())});
    const auto g = vector(gamma.value).transpose().array();
    for (Index r = 0; r < rows(x.shape()); ++r) {
        // [forward: the row]
        const auto row = matrix(x).row(r).array();
        inverse_rms(r) = 1 / std::sqrt(row.square().mean() + eps_);
        matrix(x_hat).row(r) = row * inverse_rms(r);
        matrix(y).row(r) = matrix(x_hat).row(r).array() * g;
    }
    // [forward: keep]
    if (cache) *cache = {x_hat, inverse_rms};
    return y;
}
// [backward]
// forward was:  x_hat = x / rms,  rms = sqrt(mean(x^2) + eps),  y = gamma * x_hat
// hence:        dgamma = sum of dy * x_hat over rows,  dx_hat = dy * gamma,
//               dx = (dx_hat - x_hat * mean(dx_hat * x_hat)) / rms
//                     |        through rms
//                     directly
Tensor RmsNorm::backward(const Tensor& dy, const Cache& cache) {
    require_shape(dy.shape(), cache.normalized.shape(), "rms norm backward", "dy");
    const Timed timed("rms norm");
    Tensor dx(dy.shape());
    const auto g = vector(gamma.value).transpose().array();
    for (Index r = 0; r < rows(dy.shape()); ++r) {
        const auto dy_r = matrix(dy).row(r).array();
        const auto x_hat = matrix(cache.normalized).row(r).array();
        vector(gamma.grad()).transpose().array() += dy_r * x_hat;
        // [backward: the row]
        const auto dx_hat = (dy_r * g).eval();
        const Real along = (dx_hat * x_hat).mean();
        matrix(dx).row(r) = (dx_hat - x_hat * along) * cache.inverse_rms(r);
    }
    return dx;
}

}  // namespace abh
