#pragma once

#include <algorithm>

#include "lib/tensor.hpp"

namespace abh {
// [packing]
/// Where sentences stand when the pads behind them are left out: one behind the other, in one row
/// of a batch of one.
struct Packing {
    Ids first;         ///< row where sentence b begins, and the number of rows at the end; [B + 1]
    Index length = 0;  ///< of a sentence with its pads, L

    bool empty() const { return first.empty(); }
    Index sentences() const { return std::max<Index>(first.size() - 1, 0); }
    Index rows() const { return empty() ? 0 : first(sentences()); }
    Index left_out() const { return sentences() * length - rows(); }
    Index begin(Index b) const { return first(b); }
    Index count(Index b) const { return first(b + 1) - first(b); }
};

/// Leaves out the pads behind the last word of each sentence. Pads within it stay, and so does a
/// sentence of pads alone.
/// @param ids  `[B, L]`
/// @throws std::invalid_argument for another number of axes
Packing leave_out_pads(const Ids& ids, std::int32_t pad = 0);
/// The same for two sequences of one shape: a place is left out where both are past their ends.
Packing leave_out_pads(const Ids& a, const Ids& b, std::int32_t pad = 0);

/// `[B, L, n]` becomes `[1, rows, n]`.
/// @throws std::invalid_argument if the packing is of other sentences
Tensor pack(const Tensor& x, const Packing& packing);
/// `[B, L]` becomes `[1, rows]`. @throws std::invalid_argument as above
Ids pack(const Ids& ids, const Packing& packing);
/// `[1, rows, n]` becomes `[B, L, n]` with zeros at the pads.
/// @throws std::invalid_argument for another number of rows
Tensor unpack(const Tensor& x, const Packing& packing);

}  // namespace abh
