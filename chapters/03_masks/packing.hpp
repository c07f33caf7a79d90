#pragma once

#include <algorithm>
#include <utility>

#include "lib/tensor.hpp"

namespace abh {
// [packing]
/// Where sentences stand when the pads behind them are left out: one after another, in one row of a
/// batch of one. Empty: nothing is left out.
struct Packing {
    Ids offsets;       ///< row where sentence b begins, and the number of rows at the end; [B + 1]
    Index length = 0;  ///< of a sentence with its pads, L

    bool empty() const { return offsets.empty(); }
    Index sentences() const { return std::max<Index>(offsets.size() - 1, 0); }
    Index rows() const { return empty() ? 0 : offsets(sentences()); }
    Index begin(Index b) const { return offsets(b); }
    Index count(Index b) const { return offsets(b + 1) - offsets(b); }
};

/// Leaves out the pads behind the last word of each sentence. What stands at its first place, and
/// pads between its words, stay.
/// @param ids  `[B, L]`
/// @throws std::invalid_argument for another number of axes
Packing leave_out_pads(const Ids& ids, std::int32_t pad = 0);

/// `[B, L, n]` becomes `[1, rows, n]`; nothing happens if the packing is empty.
/// @throws std::invalid_argument if the packing is of other sentences
Tensor pack(const Tensor& x, const Packing& packing);
/// `[B, L]` becomes `[1, rows]`. @throws std::invalid_argument as above
Ids pack(const Ids& ids, const Packing& packing);
/// `[1, rows, n]` becomes `[B, L, n]` with zeros at the pads; the inverse of `pack`.
/// @throws std::invalid_argument for another number of rows
Tensor unpack(const Tensor& x, const Packing& packing);
// [sentences]
/// The sentences of a batch, padded to one length; how they stand in all layers behind the
/// positions.
struct Sentences {
    Ids ids;               ///< [B, L]
    Packing packing = {};  ///< if not empty, they stand one after another, without their pads

    Sentences() = default;
    Sentences(Ids padded, Packing without_pads = {})
        : ids(std::move(padded)), packing(std::move(without_pads)) {}
};

}  // namespace abh
