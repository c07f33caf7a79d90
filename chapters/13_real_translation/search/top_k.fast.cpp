#include "chapters/13_real_translation/search/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "chapters/09_training/loss/argmax.hpp"
#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [top k]
namespace {

/// The n best words of a row, in order. `log_probability` holds the logit until the row is read.
class Best {
public:
    Best(Choice* choices, Index n) : choices_(choices), n_(n) {}

    /// Whether a word with this logit would be one of them.
    bool takes(Real z) const { return found_ < n_ || z > choices_[n_ - 1].log_probability; }
    void put(Choice choice) {
        found_ += found_ < n_;
        // worse ones move down, or out; among equals, the earlier one stays in front
        Index i = found_ - 1;
        for (; i > 0 && choice.log_probability > choices_[i - 1].log_probability; --i)
            choices_[i] = choices_[i - 1];
        choices_[i] = choice;
    }

private:
    Choice* choices_;
    Index n_, found_ = 0;
};

/// Skips most blocks of a row, because their largest logit shows that they hold none of its best.
void find_best(const ConstVectorMap& z, std::span<const std::int32_t> never, Best& best) {
    constexpr Index block = 128;
    for (Index begin = 0; begin < z.size(); begin += block) {
        const Index end = std::min(begin + block, z.size());
        if (!best.takes(z.segment(begin, end - begin).maxCoeff())) continue;
        for (Index w = begin; w < end; ++w)
            if (best.takes(z(w)) && !std::ranges::binary_search(never, w))
                best.put({static_cast<std::int32_t>(w), z(w)});
    }
}

}  // namespace

BasicTensor<Choice> top_k(const Tensor& logits, Index n, const Ids& never) {
    const BasicTensor<Prediction> predictions = argmax(logits);  // [R, 1]
    const Index words = logits.dim(2);
    BasicTensor<Choice> choices({logits.dim(0), n});
    Choice* const first = choices.data();
    parallel_ranges(choices.dim(0), std::max<Index>(1, (1 << 14) / words), [&](Index r, Index end) {
        for (; r < end; ++r) {
            const ConstVectorMap z(logits.data() + r * words, words);
            const auto [word, probability] = predictions.data()[r];
            Best best(first + r * n, n);
            find_best(z, never.values(), best);
            for (Choice& choice : std::span(first + r * n, static_cast<std::size_t>(n)))
                choice.log_probability = choice.log_probability - z(word) + std::log(probability);
        }
    });
    return choices;
}

}  // namespace abh::fast
