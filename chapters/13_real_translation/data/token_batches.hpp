#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chapters/09_training/corpus.hpp"
#include "lib/random.hpp"

namespace abh {
// [pairs]
/// A sentence and its translation as ids, without start and end symbol.
struct IdPair {
    std::vector<std::int32_t> source, target;
};

/// The symbols that a batch adds, in both vocabularies.
struct Symbols {
    std::int32_t pad = 0, start = 2, end = 3;
};

/// Words of a pair that a training step computes: those of the source and its end symbol, the start
/// symbol and those of the target. Pads are none of them: the step leaves them out.
inline Index count_words(const IdPair& pair) {
    return static_cast<Index>(pair.source.size() + pair.target.size()) + 2;
}
// [batches]
/// Which pairs are trained on together: batches of about equally many words, of like lengths.
class TokenBatches {
public:
    /// @param pairs   outlive this, and do not change
    /// @param tokens  words of a batch, at most; see `count_words`
    /// @throws std::invalid_argument if there is no pair, or one has more words than a batch takes
    TokenBatches(std::span<const IdPair> pairs, Index tokens, std::uint64_t seed);

    /// Draws the order of an epoch, 1 or later: a function of the seed and the epoch alone.
    void draw(Index epoch);
    /// Batches of the epoch.
    Index count() const { return static_cast<Index>(batches_.size()); }
    /// The numbers of the pairs of the epoch's batch `i`.
    std::span<const Index> operator[](Index i) const;

private:
    void cut(std::size_t first, std::size_t end);

    std::span<const IdPair> pairs_;
    Index tokens_;
    Random random_;  ///< its step is the epoch
    Stream of_pairs_, of_batches_;
    std::vector<Index> order_;                 ///< of the pairs
    std::vector<std::span<const Index>> cut_;  ///< batches by length
    std::vector<Index> batches_;               ///< in which order they come
};
// [a batch]
/// Sources as the model reads them: the words, the end symbol, pads, `[B, Ls]`.
Ids source_batch(std::span<const std::vector<std::int32_t>* const> sentences,
                 const Symbols& symbols);
/// The batch of the pairs with these numbers. @throws std::invalid_argument if there is no such
/// pair
Batch make_batch(std::span<const IdPair> pairs, std::span<const Index> numbers,
                 const Symbols& symbols);

}  // namespace abh
