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
/// Puts pairs of similar length into batches of about equally many words.
class TokenBatches {
public:
    /// @param pairs   must outlive this object and not change
    /// @param tokens  the most words in a batch, as `count_words` counts them
    /// @throws std::invalid_argument if there are no pairs, or one does not fit into a batch
    TokenBatches(std::span<const IdPair> pairs, Index tokens, std::uint64_t seed);

    /// Draws the batches of an epoch (1 or later), which depend on the seed and the epoch alone.
    void draw(Index epoch);
    /// How many batches the epoch has.
    Index count() const { return static_cast<Index>(batches_.size()); }
    /// The numbers of the pairs in the epoch's batch `i`.
    std::span<const Index> operator[](Index i) const;

private:
    void cut(std::size_t first, std::size_t end);

    std::span<const IdPair> pairs_;
    Index tokens_;
    Random random_;  ///< its step is the epoch
    Stream of_pairs_, of_batches_;
    std::vector<Index> order_;                 ///< of the pairs
    std::vector<std::span<const Index>> cut_;  ///< batches by length
    std::vector<Index> batches_;               ///< the order in which they come
};
// [a batch]
/// Sources as the model reads them, `[B, Ls]`: words, the end symbol, then pads.
Ids source_batch(std::span<const std::vector<std::int32_t>* const> sentences,
                 const Symbols& symbols);
/// The batch of the pairs with these numbers. @throws std::invalid_argument if there are none
Batch make_batch(std::span<const IdPair> pairs, std::span<const Index> numbers,
                 const Symbols& symbols);

}  // namespace abh
