#include "chapters/09_training/likeliest.hpp"

#include <algorithm>

#include "chapters/09_training/likeliest.cuh"
#include "lib/eigen.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [likeliest]
BasicTensor<Choice> likeliest(const Tensor& logits) {
    const Timed timed("likeliest");
    require(logits.rank() == 3 && logits.dim(2) >= 1,
            "likeliest: logits have shape {}, expected [B, L, n_words]", logits.shape());
    const Index words = logits.dim(2);
    BasicTensor<Choice> choices({logits.dim(0), logits.dim(1)});
    if (on_cuda()) return cuda::likeliest(choices, logits), choices;
    parallel_ranges(choices.size(), std::max<Index>(1, (1 << 13) / words), [&](Index i, Index end) {
        for (; i < end; ++i) {
            const auto row = matrix(logits).row(i).array();
            const Real largest = row.maxCoeff();
            const Real* const begin = logits.data() + i * words;
            const Real* const best =
                std::find_if(begin, begin + words - 1, [&](Real z) { return !(z < largest); });
            choices.data()[i] = {static_cast<std::int32_t>(best - begin),
                                 1 / (row - largest).exp().sum()};
        }
    });
    return choices;
}

}  // namespace abh
