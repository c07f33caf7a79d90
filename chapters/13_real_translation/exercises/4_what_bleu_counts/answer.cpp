// Exercise 13.4: what BLEU counts.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

using Sentence = std::vector<std::int32_t>;

/// The words of row `b`, without the pads at its end.
Sentence words(const Ids& ids, Index b) {
    Sentence sentence;
    for (Index i = 0; i < ids.dim(1); ++i)
        if (ids(b, i) != 0) sentence.push_back(ids(b, i));
    return sentence;
}

/// @param hypotheses  ids of the words that a system says, [B, Lh], pads are 0
/// @param references  ids of those that it should say, [B, Lr], pads are 0
/// @return            BLEU of all of them, from 0 to 1, without smoothing
Real bleu(const Ids& hypotheses, const Ids& references) {
    // solution
    constexpr std::size_t orders = 4;
    std::array<Real, orders> matches{}, total{};
    Real said = 0, wanted = 0;
    for (Index b = 0; b < hypotheses.dim(0); ++b) {
        const Sentence hypothesis = words(hypotheses, b), reference = words(references, b);
        said += static_cast<Real>(hypothesis.size());
        wanted += static_cast<Real>(reference.size());
        for (std::size_t k = 0; k < orders; ++k) {
            std::map<Sentence, Index> ours, theirs;
            const auto n = static_cast<std::ptrdiff_t>(k + 1);
            for (auto w = hypothesis.begin(); hypothesis.end() - w >= n; ++w)
                ++ours[Sentence(w, w + n)];
            for (auto w = reference.begin(); reference.end() - w >= n; ++w)
                ++theirs[Sentence(w, w + n)];
            for (const auto& [ngram, count] : ours) {
                total[k] += static_cast<Real>(count);
                const auto place = theirs.find(ngram);
                if (place != theirs.end())
                    matches[k] += static_cast<Real>(std::min(count, place->second));
            }
        }
    }
    Real logs = 0;
    for (std::size_t k = 0; k < orders; ++k) {
        if (matches[k] == 0) return 0;
        logs += std::log(matches[k] / total[k]);
    }
    const Real penalty = said < wanted ? std::exp(1 - wanted / said) : Real(1);
    return penalty * std::exp(logs / orders);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
