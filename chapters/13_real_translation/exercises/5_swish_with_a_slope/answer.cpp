// Exercise 13.5: swish with a trained slope.
#include <cmath>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

/// The gradients of y = x s(beta x), with s(a) = 1 / (1 + exp(-a)).
/// @param dy    gradient of the loss with respect to y, any shape
/// @param x     the input, of the same shape
/// @param beta  the slope, one number for all elements
/// @return      dx, of the shape of x, and dbeta, [1]
std::vector<Tensor> swish_backward(const Tensor& dy, const Tensor& x, Real beta) {
    Tensor dx(x.shape()), dbeta = Tensor::zeros({1});
    // solution
    for (std::size_t i = 0; i < x.values().size(); ++i) {
        const Real v = x.values()[i], s = 1 / (1 + std::exp(-beta * v));
        dx.values()[i] = dy.values()[i] * (s + beta * v * s * (1 - s));
        dbeta(0) += dy.values()[i] * v * v * s * (1 - s);
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return {dx, dbeta};
}

}  // namespace abh::mine
