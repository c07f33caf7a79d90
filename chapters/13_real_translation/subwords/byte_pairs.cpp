#include "chapters/13_real_translation/subwords/byte_pairs.hpp"

#include <algorithm>
#include <tuple>

#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [characters]
Pieces characters(const std::string& word) {
    Pieces pieces;
    for (const char32_t c : code_points("▁" + word)) pieces.push_back(utf8({&c, 1}));
    return pieces;
}
// [join]
Pieces join(const Merge& merge, const Pieces& pieces) {
    Pieces merged;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool both = i + 1 < pieces.size() && merge == Merge(pieces[i], pieces[i + 1]);
        merged.push_back(both ? merge.first + merge.second : pieces[i]);
        if (both) ++i;
    }
    return merged;
}
// [learn]
namespace {

/// The order of merging: frequent pairs first, then short ones, then by their bytes.
auto rank(const std::pair<const Merge, Index>& candidate) {
    const auto& [merge, count] = candidate;
    const std::string piece = merge.first + merge.second;
    return std::tuple(-count, code_points(piece).size(), piece);
}

}  // namespace

std::vector<Merge> learn_merges(const std::map<std::string, Index>& count, Index n_merges) {
    std::vector<std::pair<Pieces, Index>> words;
    for (const auto& [word, n] : count) words.emplace_back(characters(word), n);
    std::vector<Merge> merges;
    while (static_cast<Index>(merges.size()) < n_merges) {
        std::map<Merge, Index> pairs;
        for (const auto& [pieces, n] : words)
            for (std::size_t i = 1; i < pieces.size(); ++i) pairs[{pieces[i - 1], pieces[i]}] += n;
        if (pairs.empty()) break;  // every word is one piece already
        merges.push_back(std::ranges::min_element(pairs, {}, [](const auto& pair) {
                             return rank(pair);
                         })->first);
        for (auto& [pieces, n] : words) pieces = join(merges.back(), pieces);
    }
    return merges;
}
// [cut]
Pieces cut(const std::string& word, std::span<const Merge> merges) {
    Pieces pieces = characters(word);
    for (const Merge& merge : merges) pieces = join(merge, pieces);
    return pieces;
}

}  // namespace abh
