// Exercise 00.1: a linear map, with nothing but loops.
#include <stdexcept>

#include "lib/linear.hpp"

namespace abh::mine {

/// @param x_   [..., d_in]
/// @param map  has `weight.value`, [d_out, d_in], and `bias.value`, [d_out], if `has_bias()`
/// @return     y = x W^T + b, [..., d_out]
Tensor linear(const Tensor& x_, const Linear& map) {
    // `rows(shape)` is the product of all sizes but the last, so all leading axes become one.
    const Tensor x = x_.reshape({rows(x_.shape()), map.d_in()});  // [R, d_in]
    // The elements of `y` are not set yet; `y(r, i)` is one of them.
    Tensor y({x.dim(0), map.d_out()});  // [R, d_out]
    // solution
    for (Index r = 0; r < y.dim(0); ++r)
        for (Index i = 0; i < y.dim(1); ++i) {
            Real sum = map.has_bias() ? map.bias.value(i) : 0;
            for (Index j = 0; j < x.dim(1); ++j) sum += x(r, j) * map.weight.value(i, j);
            y(r, i) = sum;
        }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return y.reshape(x_.shape().with(-1, map.d_out()));
}

}  // namespace abh::mine
