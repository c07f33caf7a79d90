// Exercise 06.4: a norm without a mean.
#include <cmath>
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// `gamma * x / sqrt(mean of x^2 + eps)`, row by row.
/// @param x      [rows, n]
/// @param gamma  [n]
/// @return       [rows, n]
Tensor rms_norm(const Tensor& x, const Tensor& gamma, Real eps) {
    Tensor y(x.shape());
    // solution
    const Real width = static_cast<Real>(x.dim(1));
    for (Index r = 0; r < x.dim(0); ++r) {
        Real mean_square = 0;
        for (Index i = 0; i < x.dim(1); ++i) mean_square += x(r, i) * x(r, i) / width;
        const Real inverse = 1 / std::sqrt(mean_square + eps);
        for (Index i = 0; i < x.dim(1); ++i) y(r, i) = gamma(i) * x(r, i) * inverse;
    }
    // stub
    // (void)gamma, (void)eps;
    // throw std::logic_error("not written yet");
    // end
    return y;
}

/// The gradients of `rms_norm`.
struct RmsNormGradients {
    Tensor dx;      ///< [rows, n]
    Tensor dgamma;  ///< [n]
};

/// @param dy     gradient of the loss with respect to the result, [rows, n]
/// @param x      [rows, n]
/// @param gamma  [n]
RmsNormGradients rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& gamma,
                                   Real eps) {
    Tensor dx(x.shape()), dgamma = Tensor::zeros(gamma.shape());
    // solution
    const Real n = static_cast<Real>(x.dim(1));
    for (Index r = 0; r < x.dim(0); ++r) {
        Real square = 0, along = 0;
        for (Index i = 0; i < x.dim(1); ++i) square += x(r, i) * x(r, i);
        const Real inverse = 1 / std::sqrt(square / n + eps);
        for (Index i = 0; i < x.dim(1); ++i) {
            dgamma(i) += dy(r, i) * x(r, i) * inverse;
            along += gamma(i) * dy(r, i) * x(r, i) * inverse / n;
        }
        for (Index i = 0; i < x.dim(1); ++i) {
            const Real dx_hat = gamma(i) * dy(r, i), x_hat = x(r, i) * inverse;
            dx(r, i) = (dx_hat - x_hat * along) * inverse;
        }
    }
    // stub
    // (void)dy, (void)eps;
    // throw std::logic_error("not written yet");
    // end
    return {dx, dgamma};
}

}  // namespace abh::mine
