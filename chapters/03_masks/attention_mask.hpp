#pragma once

#include "chapters/03_masks/packing.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [attention mask]
/// Who sees whom. A key is hidden from a query where any part hides it; a part that is left out
/// hides nothing. Handed through all layers, and opened by attention alone. 1 = hide, everywhere.
struct AttentionMask {
    Mask pads = {};       ///< [B, Lk]: keys that are padding, hidden from all queries
    bool causal = false;  ///< query i sees keys 0 to i of its sentence
    Mask extra = {};      ///< any other: four axes, each of the size in [B, H, Lq, Lk] or 1
    Packing queries = {}, keys = {};  ///< if sentences stand one after another: where

    AttentionMask() = default;
    /// Any mask, `[B, Lq, Lk]`, the same for all heads, or of four axes; empty: hides nothing.
    AttentionMask(const Mask& any);

    /// Whether sentences stand one after another: each sees its own keys alone.
    bool packed() const { return !queries.empty(); }
    /// Throws std::invalid_argument unless every part fits scores of this shape, `[B, H, Lq, Lk]`;
    /// of sentences that stand one after another, that of the padded ones.
    void check(const Shape& scores) const;
    /// Whether query i of head h of sentence b must not see key j.
    bool hides(Index b, Index h, Index i, Index j) const;
    /// All of it for scores of this shape, `[B, H, Lq, Lk]`, with size 1 for each axis along which
    /// nothing changes; empty where nothing is hidden. Of sentences that stand one after another,
    /// all rows and all keys: `[1, 1, rows, rows]`.
    Mask dense(const Shape& scores) const;

private:
    Mask dense_packed() const;
};
// [makers]
/// Hides the pads among the keys. @param keys  `[B, Lk]`
AttentionMask hide_pads(const Ids& keys, std::int32_t pad = 0);
/// Hides the future.
AttentionMask hide_future();
/// Hides what either hides. @throws std::invalid_argument if both have the same part
AttentionMask operator|(const AttentionMask& a, const AttentionMask& b);

}  // namespace abh
