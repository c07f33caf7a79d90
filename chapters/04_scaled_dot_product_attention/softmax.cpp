#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

#include <limits>

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(softmax) softmax;
decltype(softmax_backward) softmax_backward;
}  // namespace plain
namespace fast {
decltype(softmax) softmax;
decltype(softmax_backward) softmax_backward;
}  // namespace fast
namespace cuda {
decltype(softmax) softmax;
decltype(softmax_backward) softmax_backward;
}  // namespace cuda
// [softmax]
Tensor softmax(const Tensor& x) {
    require(x.rank() >= 1 && x.dim(-1) >= 1, "softmax: x has shape {}, its last axis is empty",
            x.shape());
    static constexpr Ways ways{"softmax", plain::softmax, fast::softmax, cuda::softmax};
    return ways(x);
}

Tensor plain::softmax(const Tensor& x) {
    constexpr Real smallest = std::numeric_limits<Real>::min();  // of the normal numbers
    Tensor y(x.shape());
    const auto scores = matrix(x).array();
    auto weights = matrix(y).array();  // [rows, n]
    for (Index r = 0; r < scores.rows(); ++r) {
        weights.row(r) = (scores.row(r) - scores.row(r).maxCoeff()).exp();
        weights.row(r) = (weights.row(r) < smallest).select(Real(0), weights.row(r));
        weights.row(r) /= weights.row(r).sum();
    }
    return y;
}
// [softmax: backward]
Tensor softmax_backward(const Tensor& dy, const Tensor& y) {
    require_shape(dy.shape(), y.shape(), "softmax backward", "dy");
    static constexpr Ways ways{"softmax", plain::softmax_backward, fast::softmax_backward,
                               cuda::softmax_backward};
    return ways(dy, y);
}

// forward was:  y = exp(x - max) / sum     so     dy_i/dx_j = y_i (1[i=j] - y_j)
// hence:        dx = y * (dy - <dy, y>)    row by row
Tensor plain::softmax_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    for (Index r = 0; r < rows(y.shape()); ++r) {
        const auto weights = matrix(y).row(r), dweights = matrix(dy).row(r);
        matrix(dx).row(r) = weights.array() * (dweights.array() - dweights.dot(weights));
    }
    return dx;
}

}  // namespace abh
