#pragma once

#include <algorithm>

#include "lib/tensor.hpp"

namespace abh {
// [packing]
/// Where sentences stand when the pads behind them are left out: one behind the other, in one row
/// of a batch of one.
struct Packing {
    Ids offsets;       ///< row where sentence b begins, and the number of rows at the end; [B + 1]
    Index length = 0;  ///< of a sentence with its pads, L

    bool empty() const { return offsets.empty(); }
    Index sentences() const { return std::max<Index>(offsets.size() - 1, 0); }
    Index rows() const { return empty() ? 0 : offsets(sentences()); }
    Index left_out() const { return sentences() * length - rows(); }
    Index begin(Index b) const { return offsets(b); }
    Index count(Index b) const { return offsets(b + 1) - offsets(b); }
};

/// How queries and keys stand in their tensors, where pads are left out.
struct Packed {
    Packing queries, keys;  ///< of the same sentences; both empty: nothing is left out

    bool empty() const { return queries.empty(); }
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
/// Sentence `b` of packed `[1, rows, n]`, `[1, L, n]`; shares memory.
Tensor sentence(const Tensor& x, const Packing& packing, Index b);

}  // namespace abh
