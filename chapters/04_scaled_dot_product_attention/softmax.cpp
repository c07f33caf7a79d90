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
// [softmax: which way]
Tensor softmax(const Tensor& z) {
    require(z.rank() >= 1 && z.dim(-1) >= 1,
            "softmax: z has shape {}, expected at least one score per row", z.shape());
    return Ways{"softmax", plain::softmax, fast::softmax, cuda::softmax}(z);
}
// [softmax]
Tensor plain::softmax(const Tensor& z) {
    constexpr Real smallest = std::numeric_limits<Real>::min();  // normal number
    Tensor w(z.shape());
    const auto scores = matrix(z).array();
    auto weights = matrix(w).array();  // [rows, n]
    for (Index r = 0; r < scores.rows(); ++r) {
        weights.row(r) = (scores.row(r) - scores.row(r).maxCoeff()).exp();
        // What is below it becomes 0, so a hidden weight is exactly 0.
        weights.row(r) = (weights.row(r) < smallest).select(Real(0), weights.row(r));
        weights.row(r) /= weights.row(r).sum();
    }
    return w;
}
// [softmax: backward, which way]
Tensor softmax_backward(const Tensor& dw, const Tensor& w) {
    require_shape(dw.shape(), w.shape(), "softmax backward", "dw");
    return Ways{"softmax", plain::softmax_backward, fast::softmax_backward, cuda::softmax_backward}(
        dw, w);
}
// [softmax: around its backward]
// forward was:  w = exp(z - max) / sum     so     dw_j/dz_n = w_j (1[j=n] - w_n)
// hence:        dz = w * (dw - <dw, w>)    row by row
Tensor plain::softmax_backward(const Tensor& dw, const Tensor& w) {
    Tensor dz(w.shape());
    // [softmax: backward]
    for (Index r = 0; r < rows(w.shape()); ++r) {
        const auto weights = matrix(w).row(r), dweights = matrix(dw).row(r);
        matrix(dz).row(r) = weights.array() * (dweights.array() - dweights.dot(weights));
    }
    // [softmax: its gradient]
    return dz;
}

}  // namespace abh
