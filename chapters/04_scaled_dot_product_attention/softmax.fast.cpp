#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

#include "lib/fast/exp.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"

namespace abh {
namespace fast {
decltype(softmax) softmax;
decltype(softmax_backward) softmax_backward;
}  // namespace fast
// [softmax]
Tensor fast::softmax(const Tensor& x) {
    const Index n = x.dim(-1);
    Tensor y(x.shape());
    parallel_ranges(rows(x.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Real* const scores = x.data() + r * n;
            Real* const weights = y.data() + r * n;
            const Real row_max = ConstVectorMap(scores, n).maxCoeff();
            prefetch(scores + n, r + 1 < end ? n : 0);  // while this row is computed
            const Real sum = exp_and_sum(scores, row_max, weights, n);  // >= 1
            VectorMap(weights, n) *= 1 / sum;
        }
    });
    return y;
}
// [softmax: backward]
Tensor fast::softmax_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    parallel_ranges(rows(y.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const auto weights = matrix(y).row(r), dweights = matrix(dy).row(r);
            matrix(dx).row(r) = weights.array() * (dweights.array() - dweights.dot(weights));
        }
    });
    return dx;
}

}  // namespace abh
