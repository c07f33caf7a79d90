#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/corpus.hpp"
#include "lib/random.hpp"

namespace abh {
// [batches]
/// Which pairs are trained on together: an epoch takes each pair once, in a random order.
class Batches {
public:
    /// @param pairs         outlive this, and do not change
    /// @param size          pairs in a batch; one has what is left
    /// @param bucket_by_length  put pairs of like lengths together, so that few pads are needed
    /// @throws std::invalid_argument if there is no pair, or `size` is below 1
    Batches(std::span<const SentencePair> pairs, Index size, bool bucket_by_length);

    /// Draws the order of an epoch. Before the first one, pairs come in their own order.
    /// @param of_batches  is used with like lengths alone
    void draw(const Stream& of_pairs, const Stream& of_batches);

    Index count() const { return static_cast<Index>(batches_.size()); }
    /// The numbers of the pairs of the epoch's batch `i`.
    std::span<const Index> operator[](Index i) const;

private:
    void begin();

    std::span<const SentencePair> pairs_;
    Index size_;
    bool bucket_by_length_;
    std::vector<Index> order_;    ///< of the pairs
    std::vector<Index> batches_;  ///< in which order they come
    std::vector<Index> rank_;     ///< of each pair, before pairs were sorted
};

/// The share of places that hold pads in the batches of an epoch, source and target together.
double share_of_pads(std::span<const SentencePair> pairs, const Batches& batches);

}  // namespace abh
