#pragma once

#include "chapters/03_masks/packing.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [attention mask]
/// Which keys each query sees. A key is hidden from a query if any part hides it; a part that is
/// left out hides nothing. All layers pass the mask on, and only attention reads it. 1 = hide,
/// everywhere.
struct AttentionMask {
    Mask pads = {};       ///< [B, Lk]: keys that are padding, hidden from all queries
    bool causal = false;  ///< query i sees keys 0 to i of its sentence
    Mask extra = {};      ///< any other mask; each of its axes has the size in [B, H, Lq, Lk] or 1
    Packing queries = {}, keys = {};  ///< of packed sentences: where each begins

    AttentionMask() = default;
    /// Any mask: `[B, Lq, Lk]`, the same for all heads, or with four axes; if empty, hides nothing.
    AttentionMask(const Mask& any);

    /// Whether sentences are packed one after another. Each sees only its own keys.
    bool packed() const { return !queries.empty(); }
    /// Throws std::invalid_argument unless pads and extra mask fit scores of this shape,
    /// `[B, H, Lq, Lk]`; for packed sentences, the shape that the scores have with padding. Queries
    /// and keys must both be packed, or neither. Packed sentences take no extra mask, and if pads
    /// are hidden, none may begin with one.
    void check(const Shape& scores) const;
    /// Whether query i of head h of sentence b must not see key j.
    bool hides(Index b, Index h, Index i, Index j) const;
    /// The whole mask for scores of this shape, `[B, H, Lq, Lk]`, with size 1 for each axis along
    /// which nothing changes; empty if it has no part. For packed sentences, all rows of queries
    /// and of keys: `[1, 1, rows, rows]`.
    Mask dense(const Shape& scores) const;

private:
    Mask dense_packed() const;
};
// [makers]
/// Hides the pads among the keys. @param keys  `[B, Lk]`
/// @throws std::invalid_argument unless `keys` has two axes
AttentionMask hide_pads(const Ids& keys, std::int32_t pad = 0);
/// Hides the future.
AttentionMask hide_future();
/// Hides what either hides.
/// @throws std::invalid_argument if both have pads, an extra mask or packed sentences
AttentionMask operator|(const AttentionMask& a, const AttentionMask& b);

}  // namespace abh
