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
// [partition]
/// The elements of all parameters in one row, cut into as many slices as there are ranks. The cuts
/// lie between blocks of 4,096 elements of a parameter, wherever there are ranks.
class Partition {
public:
    static constexpr Index block = 4096;

    Partition(const Parameters& parameters, Index ranks);

    Index ranks() const { return static_cast<Index>(slices_.size()); }
    /// Elements of all slices.
    Index size() const { return begin_.back(); }
    /// Where the slice of a rank begins in the row.
    Index begin(Index rank) const { return begin_[static_cast<std::size_t>(rank)]; }
    /// Elements of its slice.
    Index count(Index rank) const { return begin(rank + 1) - begin(rank); }
    /// What its slice consists of, in the order of the row.
    std::span<const Piece> pieces(Index rank) const {
        return slices_[static_cast<std::size_t>(rank)];
    }

private:
    std::vector<std::vector<Piece>> slices_;
    std::vector<Index> begin_;
};
// [pieces]
/// A piece of a tensor, `[count]`; shares memory.
Tensor piece_of(const Tensor& whole, const Piece& piece);
/// The gradients of all parameters as one row.
Tensor gradient_row(const Parameters& parameters);

}  // namespace abh
