#include "chapters/13_real_translation/search/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chapters/09_training/loss/argmax.hpp"
#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(top_k) top_k;
}
namespace fast {
decltype(top_k) top_k;
}
namespace cuda {
decltype(top_k) top_k;
}
// [check]
namespace {

void check(const Tensor& logits, Index n, const Ids& never) {
    require(logits.rank() == 3 && logits.dim(1) == 1,
            "top_k: logits have shape {}, expected [R, 1, n_words]", logits.shape());
    std::int32_t last = -1;
    for (const std::int32_t id : never.values()) {
        require(id > last && id < logits.dim(2),
                "top_k: {} follows {} in never, expected ascending ids below {}", id, last,
                logits.dim(2));
        last = id;
    }
    require(n >= 1 && n <= logits.dim(2) - never.size(),
            "top_k: asked for {} words of {}, of which {} are in never", n, logits.dim(2),
            never.size());
}

}  // namespace
// [top k]
BasicTensor<Choice> top_k(const Tensor& logits, Index n, const Ids& never) {
    check(logits, n, never);
    return Ways{"top k", plain::top_k, fast::top_k, cuda::top_k}(logits, n, never);
}

BasicTensor<Choice> plain::top_k(const Tensor& logits, Index n, const Ids& never) {
    const BasicTensor<Prediction> best = argmax(logits);  // [R, 1]
    std::vector<std::int32_t> words;
    for (std::int32_t w = 0; w < logits.dim(2); ++w)
        if (!std::ranges::binary_search(never.values(), w)) words.push_back(w);
    BasicTensor<Choice> choices({logits.dim(0), n});
    for (Index r = 0; r < choices.dim(0); ++r) {
        const auto z = matrix(logits).row(r);
        const auto [word, probability] = best(r, 0);
        std::partial_sort(words.begin(), words.begin() + n, words.end(),
                          [&](Index a, Index b) { return z(a) > z(b) || (z(a) == z(b) && a < b); });
        for (Index i = 0; i < n; ++i) {
            const std::int32_t w = words[static_cast<std::size_t>(i)];
            choices(r, i) = {w, z(w) - z(word) + std::log(probability)};
        }
    }
    return choices;
}

}  // namespace abh
