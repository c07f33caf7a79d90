// Exercise 13.3: one round of a beam.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

/// The result of a round for the prefixes of a beam.
struct Round {
    std::vector<std::int32_t> parents, words;  ///< of those that go on, likeliest first
    std::vector<Real> sums;                    ///< the sums of those that go on
    std::vector<std::int32_t> ended;           ///< the parents of those that are set aside
    std::vector<Real> scores;                  ///< the sums of these, divided by length^alpha
};

/// @param sums     of the prefixes, `[n]`
/// @param log_p    logarithms of the probabilities of the next word, `[n, V]`
/// @param k        size of the beam
/// @param end      the end symbol
/// @param length   of a hypothesis that ends in this round, including its end symbol
/// @param alpha    the sum of what ends is divided by length^alpha
Round beam_round(const Tensor& sums, const Tensor& log_p, Index k, std::int32_t end, Index length,
                 Real alpha) {
    // solution
    const Index n_words = log_p.dim(1);
    const auto sum = [&](Index c) { return sums(c / n_words) + log_p(c / n_words, c % n_words); };
    std::vector<Index> order(static_cast<std::size_t>(log_p.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return sum(a) > sum(b); });
    Round round;
    Index rank = 0;
    for (const Index c : order) {
        const auto parent = static_cast<std::int32_t>(c / n_words);
        const auto word = static_cast<std::int32_t>(c % n_words);
        const bool among_the_first = rank++ < k;
        if (word == end) {
            if (!among_the_first) continue;
            round.ended.push_back(parent);
            round.scores.push_back(sum(c) / std::pow(static_cast<Real>(length), alpha));
        } else if (static_cast<Index>(round.words.size()) < k) {
            round.parents.push_back(parent);
            round.words.push_back(word);
            round.sums.push_back(sum(c));
        }
    }
    return round;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
