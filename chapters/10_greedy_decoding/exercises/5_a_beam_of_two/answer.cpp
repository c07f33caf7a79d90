// Exercise 10.5: a beam of two.
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/eigen.hpp"

namespace abh::mine {

using Word = std::int32_t;
/// Logits of the word after a prefix `[1, t]`, whose first id is the start symbol: `[n_words]`.
using Model = std::function<Tensor(const Ids& prefix)>;

/// The likeliest translation that a beam finds.
/// @param max_words  stop after this many rounds at the latest; at least 1
/// @param width      how many prefixes are kept at most; at least 1
/// @return           the words, without start and end symbol, and the sum of their
///                   log-probabilities, including that of the end symbol if it came
std::pair<std::vector<Word>, Real> beam_decode(const Model& model, Word start, Word end,
                                               Index max_words, Index width) {
    // solution
    struct Prefix {
        std::vector<Word> words;
        Real sum;
        bool finished;
    };
    std::vector<Prefix> beam{{{}, 0, false}};
    const auto ended = [](const Prefix& prefix) { return prefix.finished; };
    for (Index round = 0; round < max_words && !std::ranges::all_of(beam, ended); ++round) {
        std::vector<Prefix> candidates;
        for (const Prefix& kept : beam) {
            if (kept.finished) {
                candidates.push_back(kept);
                continue;
            }
            Ids ids({1, static_cast<Index>(kept.words.size()) + 1});
            ids(0, 0) = start;
            std::copy(kept.words.begin(), kept.words.end(), ids.values().begin() + 1);
            const Tensor logits = model(ids);
            const auto z = vector(logits);
            const Real l = z.maxCoeff() + std::log((z.array() - z.maxCoeff()).exp().sum());
            for (Word j = 0; j < z.size(); ++j) {
                Prefix next = kept;
                next.sum += z(j) - l;
                next.finished = j == end;
                if (!next.finished) next.words.push_back(j);
                candidates.push_back(next);
            }
        }
        std::ranges::sort(candidates,
                          [](const Prefix& a, const Prefix& b) { return a.sum > b.sum; });
        candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(width)));
        beam = candidates;
    }
    return {beam.front().words, beam.front().sum};
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
