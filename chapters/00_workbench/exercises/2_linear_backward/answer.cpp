// Exercise 00.2: the gradients of a linear map.
#include <stdexcept>

#include "lib/linear.hpp"

namespace abh::mine {

/// Adds dW to `map.weight.grad()`, [d_out, d_in], and, if `map.has_bias()`, db to
/// `map.bias.grad()`, [d_out].
/// @param dy_    gradient of the loss with respect to `y`, [..., d_out]
/// @param cache  holds `x`, the input of the forward pass, [..., d_in]
/// @return       dx, [..., d_in]
Tensor linear_backward(const Tensor& dy_, Linear& map, const Linear::Cache& cache) {
    const Tensor x = cache.x.reshape({rows(cache.x.shape()), map.d_in()});  // [R, d_in]
    const Tensor dy = dy_.reshape({x.dim(0), map.d_out()});                 // [R, d_out]
    Tensor dx = Tensor::zeros(x.shape());                                   // [R, d_in]
    // solution
    Tensor& dW = map.weight.grad();
    for (Index r = 0; r < dy.dim(0); ++r)
        for (Index i = 0; i < dy.dim(1); ++i) {
            if (map.has_bias()) map.bias.grad()(i) += dy(r, i);
            for (Index j = 0; j < x.dim(1); ++j) {
                dx(r, j) += dy(r, i) * map.weight.value(i, j);
                dW(i, j) += dy(r, i) * x(r, j);
            }
        }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return dx.reshape(cache.x.shape());
}

}  // namespace abh::mine
