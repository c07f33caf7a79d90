#pragma once

#include <span>
#include <vector>

#include "lib/parameter.hpp"

namespace abh {
// [piece]
/// Elements `begin` to `end - 1` of a parameter.
struct Piece {
    std::size_t parameter = 0;  ///< its index in the list
    Index begin = 0, end = 0;

    Index count() const { return end - begin; }
};
/// A piece of a tensor, `[count]`; shares its memory.
Tensor piece_of(const Tensor& whole, const Piece& piece);
// [bucket]
/// Parameters that travel together, as one row. Many buckets hold a single large parameter, which
/// is its own row and needs no copy.
struct Bucket {
    std::vector<std::size_t> parameters;     ///< their indices in the list
    std::vector<std::vector<Piece>> slices;  ///< those that each rank updates, in the row's order
    std::vector<Index> starts;  ///< where each rank's slice starts; last, the row's size
    std::vector<Index> owners;  ///< the rank that updates each block

    const std::vector<Piece>& slice(Index rank) const {
        return slices[static_cast<std::size_t>(rank)];
    }
    Index start(Index rank) const { return starts[static_cast<std::size_t>(rank)]; }
    Index count(Index rank) const { return start(rank + 1) - start(rank); }
    Index size() const { return starts.back(); }
};
// [partition]
constexpr Index block_size = 4096;            ///< elements of a block
constexpr Index large_size = Index{1} << 16;  ///< elements of a large parameter

/// Cuts the parameters into buckets, in the order in which backward completes them, and says which
/// rank updates which elements.
///
/// From the end of the list, because backward completes gradients in that order, each large
/// parameter becomes a bucket; small ones are collected until they are as large together. The row
/// of each bucket is cut into one slice per rank. Cuts fall only between blocks of 4,096
/// elements of a parameter, and the blocks are the same for any number of ranks.
std::vector<Bucket> cut_into_buckets(const Parameters& parameters, Index ranks,
                                     Index large = large_size);
// [row]
/// A bucket's tensors as one row, `[size]`: a copy, unless there is only one, which shares memory.
Tensor row_of(const Bucket& bucket, std::span<const Tensor> tensors);
/// Copies a row made by `row_of` back into the tensors, after it has changed.
void put_back(const Tensor& row, std::span<Tensor> tensors);

}  // namespace abh
