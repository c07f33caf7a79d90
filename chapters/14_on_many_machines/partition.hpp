#pragma once

#include <span>
#include <vector>

#include "lib/parameter.hpp"

namespace abh {
// [piece]
/// Elements `begin` to `end - 1` of a parameter.
struct Piece {
    std::size_t parameter = 0;  ///< its number in the list
    Index begin = 0, end = 0;

    Index count() const { return end - begin; }
};
/// A piece of a tensor, `[count]`; shares memory.
Tensor piece_of(const Tensor& whole, const Piece& piece);
// [bucket]
/// Neighbours in the list of parameters, whose gradients are summed together, as one row.
struct Bucket {
    std::size_t begin = 0, end = 0;          ///< parameters `begin` to `end - 1`
    std::vector<std::vector<Piece>> slices;  ///< of each rank, in the order of the row
    std::vector<Index> starts{0};  ///< where each rank's slice starts in the row; its size

    Index start(Index rank) const { return starts[static_cast<std::size_t>(rank)]; }
    Index count(Index rank) const { return start(rank + 1) - start(rank); }
    Index size() const { return starts.back(); }
};
// [partition]
/// Which rank updates which elements of the parameters.
///
/// The list is cut into buckets, from its end, as backward completes the gradients, and the row of
/// each bucket into a slice for each rank. The cuts lie between blocks of 4,096 elements of a
/// parameter, wherever there are ranks.
class Partition {
public:
    static constexpr Index block = 4096;
    static constexpr Index bucket_size = Index{1} << 20;  ///< elements of one that takes no more

    Partition(const Parameters& parameters, Index ranks, Index bucket = bucket_size);

    /// In the order in which backward completes them: the last parameters first.
    const std::vector<Bucket>& buckets() const { return buckets_; }
    /// What a rank updates, bucket by bucket.
    const std::vector<Piece>& pieces(Index rank) const {
        return pieces_[static_cast<std::size_t>(rank)];
    }
    /// Elements that a rank updates.
    Index count(Index rank) const;
    /// The rank of each block, bucket by bucket.
    const std::vector<Index>& owners() const { return owners_; }

private:
    std::vector<Bucket> buckets_;
    std::vector<std::vector<Piece>> pieces_;
    std::vector<Index> owners_;
};

}  // namespace abh
