#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/data/corpus.hpp"
#include "lib/random.hpp"

namespace abh {
// [batches]
/// Decides which pairs are trained on together. An epoch takes each pair once, in random order.
class Batches {
public:
    /// @param pairs  must outlive this object and not change
    /// @param size   pairs per batch; one batch may have fewer
    /// @param bucket_by_length  puts pairs of similar length together, so that few pads are needed
    /// @throws std::invalid_argument if there is no pair, or `size` is below 1
    Batches(std::span<const SentencePair> pairs, Index size, bool bucket_by_length);

    /// Draws the order of an epoch. Before the first call, pairs come in their own order.
    /// @param of_batches  used only with `bucket_by_length`
    void draw(const Stream& of_pairs, const Stream& of_batches);

    Index count() const { return static_cast<Index>(batches_.size()); }
    /// The numbers of the pairs of the epoch's batch `i`.
    std::span<const Index> operator[](Index i) const;

private:
    void begin();

    std::span<const SentencePair> pairs_;
    Index size_;
    bool bucket_by_length_;
    std::vector<Index> order_;    ///< the pairs' numbers, in the order of the epoch
    std::vector<Index> batches_;  ///< the batches' numbers, in the order in which they come
    std::vector<Index> rank_;     ///< of each pair in the random order, before sorting
};

/// The share of all places in an epoch's batches that hold pads, source and target together.
double share_of_pads(std::span<const SentencePair> pairs, const Batches& batches);

}  // namespace abh
