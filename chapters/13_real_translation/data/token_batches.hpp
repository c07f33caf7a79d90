#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chapters/09_training/data/corpus.hpp"
#include "lib/random.hpp"

namespace abh {
// [pairs]
/// A sentence and its translation as ids, without start and end symbols.
struct IdPair {
    std::vector<std::int32_t> source, target;
};

/// The symbols that a batch adds, in both vocabularies.
struct Symbols {
    std::int32_t pad = 0, start = 2, end = 3;
};

/// How many words of a pair a training step computes: the source's words and end symbol, and the
/// start symbol and the target's words. Pads do not count, because the step skips them.
inline Index count_words(const IdPair& pair) {
    return static_cast<Index>(pair.source.size() + pair.target.size()) + 2;
}
// [batches]
/// The batches of an epoch (1 or later), each with the numbers of its pairs, which are of similar
/// length. They depend on the pairs, the seed and the epoch alone.
/// @param tokens  the most words in a batch, as `count_words` counts them
/// @throws std::invalid_argument if there are no pairs, or one does not fit into a batch
std::vector<std::vector<Index>> token_batches(std::span<const IdPair> pairs, Index tokens,
                                              std::uint64_t seed, Index epoch);
// [a batch]
/// Sources as the model reads them, `[B, Ls]`: words, the end symbol, then pads.
Ids source_batch(std::span<const std::vector<std::int32_t>* const> sentences,
                 const Symbols& symbols);
/// The batch of the pairs with these numbers. @throws std::invalid_argument if there are none
Batch make_batch(std::span<const IdPair> pairs, std::span<const Index> numbers,
                 const Symbols& symbols);

}  // namespace abh
