#include "chapters/09_training/loss/argmax.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [argmax]
BasicTensor<Prediction> argmax(const Tensor& logits) {
    const Index words = logits.dim(2);
    BasicTensor<Prediction> best({logits.dim(0), logits.dim(1)});
    parallel_ranges(best.size(), std::max<Index>(1, (1 << 13) / words), [&](Index i, Index end) {
        for (; i < end; ++i) {
            const auto row = matrix(logits).row(i).array();
            const Real row_max = row.maxCoeff();
            const Real* const begin = logits.data() + i * words;
            const Real* const first =
                std::find_if(begin, begin + words - 1, [&](Real z) { return !(z < row_max); });
            best.data()[i] = {static_cast<std::int32_t>(first - begin),
                              1 / (row - row_max).exp().sum()};
        }
    });
    return best;
}

}  // namespace abh::fast
