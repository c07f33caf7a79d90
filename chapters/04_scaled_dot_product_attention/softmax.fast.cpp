#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

#include "lib/fast/exp.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [softmax]
Tensor softmax(const Tensor& z) {
    const Index n = z.dim(-1);
    Tensor w(z.shape());
    parallel_ranges(rows(z.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Real* const scores = z.data() + r * n;
            Real* const weights = w.data() + r * n;
            const Real row_max = ConstVectorMap(scores, n).maxCoeff();
            prefetch(scores + n, r + 1 < end ? n : 0);  // while this row is worked on
            const Real sum = exp_and_sum(scores, row_max, weights, n);  // >= 1
            VectorMap(weights, n) *= 1 / sum;
        }
    });
    return w;
}
// [softmax: backward]
Tensor softmax_backward(const Tensor& dw, const Tensor& w) {
    Tensor dz(w.shape());
    parallel_ranges(rows(w.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const auto weights = matrix(w).row(r), dweights = matrix(dw).row(r);
            matrix(dz).row(r) = weights.array() * (dweights.array() - dweights.dot(weights));
        }
    });
    return dz;
}

}  // namespace abh::fast
