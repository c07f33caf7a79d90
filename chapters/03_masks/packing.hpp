#pragma once

#include <algorithm>
#include <utility>

#include "lib/tensor.hpp"

namespace abh {
// [packing]
/// Where sentences begin when the pads after them are left out, so that they follow one another as
/// one sentence in a batch of one. If empty, nothing is left out.
struct Packing {
    Ids offsets;       ///< row where sentence b begins, and the number of rows at the end; [B + 1]
    Index length = 0;  ///< of each sentence with its pads, L
    Index begins_with_pad = -1;  ///< a sentence whose first place holds a pad; -1 if there is none

    bool empty() const { return offsets.empty(); }
    Index sentences() const { return std::max<Index>(offsets.size() - 1, 0); }
    Index rows() const { return empty() ? 0 : offsets(sentences()); }
    Index begin(Index b) const { return offsets(b); }
    Index count(Index b) const { return offsets(b + 1) - offsets(b); }
};

/// Leaves out the pads after the last word of each sentence. Pads between its words stay, and so
/// does its first place, whatever it holds.
/// @param ids  `[B, L]`
/// @throws std::invalid_argument unless `ids` has two axes
Packing leave_out_pads(const Ids& ids, std::int32_t pad = 0);

/// `[B, L, n]` becomes `[1, rows, n]`; an empty packing changes nothing.
/// @throws std::invalid_argument unless B and L are those of the packing
Tensor pack(const Tensor& x, const Packing& packing);
/// `[B, L]` becomes `[1, rows]`. @throws std::invalid_argument as above
Ids pack(const Ids& ids, const Packing& packing);
/// `[1, rows, n]` becomes `[B, L, n]` with zeros at the pads left out; the inverse of `pack`.
/// @throws std::invalid_argument for another shape
Tensor unpack(const Tensor& x, const Packing& packing);
// [sentences]
/// The sentences of a batch, padded to one length, and how they are packed in all layers after the
/// positions are added.
struct Sentences {
    Ids ids;               ///< [B, L]
    Packing packing = {};  ///< if not empty, they follow one another without their pads

    /// The rows that sentence b has in the layers.
    Index count(Index b) const { return packing.empty() ? ids.dim(1) : packing.count(b); }

    Sentences() = default;
    Sentences(Ids padded, Packing without_pads = {})
        : ids(std::move(padded)), packing(std::move(without_pads)) {}
};

}  // namespace abh
