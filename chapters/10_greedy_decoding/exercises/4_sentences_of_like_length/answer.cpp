// Exercise 10.4: sentences of like length.
#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

using Sentence = std::vector<std::int32_t>;
/// Translates a batch `[B, L]` of B >= 1 sentences, the shorter ones padded with 0 after their end.
using Translate = std::function<std::vector<Sentence>(const Ids& batch)>;

/// Translates in batches of similar length, the shortest sentences first.
/// @param sources     any number, each of at least one word; no word is 0
/// @param batch_size  sentences per batch; the last batch may have fewer
/// @return            the translations, in the order of `sources`
std::vector<Sentence> translate_sorted(const std::vector<Sentence>& sources, Index batch_size,
                                       const Translate& translate) {
    // solution
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return sources[a].size() < sources[b].size(); });
    std::vector<Sentence> results(sources.size());
    const std::size_t size = static_cast<std::size_t>(batch_size);
    for (std::size_t first = 0; first < order.size(); first += size) {
        const std::size_t last = std::min(first + size, order.size());
        std::size_t width = 0;
        for (std::size_t i = first; i < last; ++i)
            width = std::max(width, sources[order[i]].size());
        Ids batch = Ids::zeros({static_cast<Index>(last - first), static_cast<Index>(width)});
        for (std::size_t i = 0; i < last - first; ++i) {
            const Sentence& source = sources[order[first + i]];
            for (Index t = 0; t < static_cast<Index>(source.size()); ++t)
                batch(static_cast<Index>(i), t) = source[static_cast<std::size_t>(t)];
        }
        const std::vector<Sentence> translations = translate(batch);
        for (std::size_t i = 0; i < last - first; ++i) results[order[first + i]] = translations[i];
    }
    return results;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
