#include "chapters/13_real_translation/data/token_batches.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace abh {
// [batches]
TokenBatches::TokenBatches(std::span<const IdPair> pairs, Index tokens, std::uint64_t seed)
    : pairs_(pairs),
      tokens_(tokens),
      random_(seed),
      of_pairs_(random_.stream()),
      of_batches_(random_.stream()) {
    require(!pairs.empty(), "batches: there are no pairs to train on");
    for (std::size_t i = 0; i < pairs.size(); ++i)
        require(count_words(pairs[i]) <= tokens,
                "batches: pair {} has {} words with its symbols, but a batch takes {}", i,
                count_words(pairs[i]), tokens);
    order_.resize(pairs.size());
}

void TokenBatches::draw(Index epoch) {
    random_.go_to(static_cast<std::uint64_t>(epoch));
    std::iota(order_.begin(), order_.end(), Index{0});
    shuffle(order_, of_pairs_);
    cut_.clear();
    const Index window = 64 * tokens_;  // words of random pairs, which are then sorted by length
    Index words = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
        words += count_words(pairs_[static_cast<std::size_t>(order_[i])]);
        if (words < window && i + 1 < order_.size()) continue;
        cut(first, i + 1);
        first = i + 1;
        words = 0;
    }
    batches_.resize(cut_.size());
    std::iota(batches_.begin(), batches_.end(), Index{0});
    shuffle(batches_, of_batches_);
}

std::span<const Index> TokenBatches::operator[](Index i) const {
    return cut_[static_cast<std::size_t>(batches_[static_cast<std::size_t>(i)])];
}
// [cut]
/// Sorts a window of the order by length, and cuts it wherever a batch would have too many words.
void TokenBatches::cut(std::size_t first, std::size_t end) {
    const std::span<Index> window = std::span(order_).subspan(first, end - first);
    const auto lengths = [&](Index number) {
        const IdPair& pair = pairs_[static_cast<std::size_t>(number)];
        return std::pair(pair.target.size(), pair.source.size());
    };
    std::stable_sort(window.begin(), window.end(),  // equal lengths stay in their random order
                     [&](Index a, Index b) { return lengths(a) < lengths(b); });
    std::size_t begin = 0;
    Index words = 0;
    for (std::size_t i = 0; i < window.size(); ++i) {
        const Index more = count_words(pairs_[static_cast<std::size_t>(window[i])]);
        if (words + more > tokens_) {
            cut_.push_back(window.subspan(begin, i - begin));
            begin = i;
            words = 0;
        }
        words += more;
    }
    cut_.push_back(window.subspan(begin));
}
// [a batch]
namespace {

/// Rows of equal length: `first`, if given, the words, `last`, if given, and pads.
Ids padded(std::span<const std::vector<std::int32_t>* const> rows,
           std::optional<std::int32_t> first, std::optional<std::int32_t> last, std::int32_t pad) {
    std::size_t longest = 0;
    for (const auto* words : rows) longest = std::max(longest, words->size() + 1);
    Ids ids({static_cast<Index>(rows.size()), static_cast<Index>(longest)});
    std::ranges::fill(ids.values(), pad);
    auto row = ids.values().begin();
    for (const auto* words : rows) {
        auto at = row;
        if (first) *at++ = *first;
        at = std::ranges::copy(*words, at).out;
        if (last) *at = *last;
        row += static_cast<std::ptrdiff_t>(longest);
    }
    return ids;
}

}  // namespace

Ids source_batch(std::span<const std::vector<std::int32_t>* const> sentences,
                 const Symbols& symbols) {
    return padded(sentences, {}, symbols.end, symbols.pad);
}

Batch make_batch(std::span<const IdPair> pairs, std::span<const Index> numbers,
                 const Symbols& symbols) {
    std::vector<const std::vector<std::int32_t>*> sources, targets;
    for (const Index number : numbers) {
        require(number >= 0 && number < static_cast<Index>(pairs.size()),
                "batch: there is no pair {} among {}", number, pairs.size());
        const IdPair& pair = pairs[static_cast<std::size_t>(number)];
        sources.push_back(&pair.source);
        targets.push_back(&pair.target);
    }
    return make_batch(source_batch(sources, symbols),
                      padded(targets, symbols.start, {}, symbols.pad),
                      padded(targets, {}, symbols.end, symbols.pad), symbols.pad);
}

}  // namespace abh
