// Exercise 13.1: merge the most frequent pair.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Byte pair encoding on ids.
/// @param words   [W, L], the ids of each word's characters, filled up with -1
/// @param counts  [W], how often each word occurs
/// @param n       merges to find
/// @return        [n, 2], the two ids of each merge, in order; -1 where nothing is left to join
Ids learn_merges(const Ids& words, const Ids& counts, Index n) {
    // solution
    using Word = std::vector<std::int32_t>;
    std::vector<Word> text(static_cast<std::size_t>(words.dim(0)));
    std::int32_t piece = 0;  // the id of the next merge
    for (Index w = 0; w < words.dim(0); ++w)
        for (Index i = 0; i < words.dim(1); ++i)
            if (words(w, i) >= 0) {
                text[static_cast<std::size_t>(w)].push_back(words(w, i));
                piece = std::max(piece, words(w, i) + 1);
            }
    Ids merges = Ids::full({n, 2}, -1);
    for (Index k = 0; k < n; ++k, ++piece) {
        std::map<std::pair<std::int32_t, std::int32_t>, Index> pairs;
        for (Index w = 0; w < words.dim(0); ++w) {
            const Word& word = text[static_cast<std::size_t>(w)];
            for (std::size_t i = 1; i < word.size(); ++i)
                pairs[{word[i - 1], word[i]}] += counts(w);
        }
        Index best = 0;
        for (const auto& [pair, times] : pairs)
            if (times > best) {
                best = times;
                merges(k, 0) = pair.first;
                merges(k, 1) = pair.second;
            }
        if (best == 0) break;
        for (Word& word : text) {
            Word ids;
            for (std::size_t i = 0; i < word.size(); ++i) {
                const bool both =
                    i + 1 < word.size() && word[i] == merges(k, 0) && word[i + 1] == merges(k, 1);
                ids.push_back(both ? piece : word[i]);
                if (both) ++i;
            }
            word = ids;
        }
    }
    return merges;
    // stub
    // (void)words, (void)counts, (void)n;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
