// Exercise 06.2: the gradient of layer norm.
#include <stdexcept>

#include "chapters/06_feed_forward/layer_norm.hpp"

namespace abh::mine {

/// Adds to the gradients of gamma and beta.
/// @param dy     gradient of the loss with respect to y, [..., d_model]
/// @param norm   gamma.value is [d_model]; gamma.grad() and beta.grad() are added to
/// @param cache  normalized is x_hat, of the shape of dy; inverse_stddev is 1 / sigma, [rows]
/// @return       dx, the shape of dy
Tensor layer_norm_backward(const Tensor& dy_, LayerNorm& norm, const LayerNorm::Cache& cache) {
    const Shape flat{rows(dy_.shape()), dy_.dim(-1)};
    const Tensor dy = dy_.reshape(flat), x_hat = cache.normalized.reshape(flat);
    const Tensor gamma = norm.gamma.value;
    Tensor dx(flat), dgamma = norm.gamma.grad(), dbeta = norm.beta.grad();  // the same elements
    // solution
    const Real n = static_cast<Real>(dy.dim(1));
    for (Index r = 0; r < dy.dim(0); ++r) {
        Real mean = 0, mean_along = 0;
        for (Index i = 0; i < dy.dim(1); ++i) {
            dgamma(i) += dy(r, i) * x_hat(r, i);
            dbeta(i) += dy(r, i);
            mean += gamma(i) * dy(r, i) / n;
            mean_along += gamma(i) * dy(r, i) * x_hat(r, i) / n;
        }
        for (Index i = 0; i < dy.dim(1); ++i) {
            const Real dx_hat = gamma(i) * dy(r, i);
            dx(r, i) = (dx_hat - mean - x_hat(r, i) * mean_along) * cache.inverse_stddev(r);
        }
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return dx.reshape(dy_.shape());
}

}  // namespace abh::mine
