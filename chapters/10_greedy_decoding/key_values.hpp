#pragma once

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [keys and values]
/// Keys and values, cut into heads, at B places: in cross-attention of B sentences, in
/// self-attention of B prefixes, with room for more words than are there.
struct KeyValues {
    Tensor k, v;  ///< [B, H, room, d_k]
};

/// Puts the new words' keys and values behind those of their prefixes: they become row `at`.
/// @param k, v    `[n, H, 1, d_k]`
/// @param places  at which of the B places each prefix stands, `[n]`
void append(KeyValues& kv, const Tensor& k, const Tensor& v, Index at, const Ids& places);
/// `[B, H, room, d_k]` becomes `[B, H, 2 room, d_k]`: what stands at these places, and new room
/// behind it.
Tensor double_room(const Tensor& rows, const Ids& places);
/// Copies the first `length` keys and values at each place of `from` to the one in `to`.
/// @param from, to  `[m]`; no place stands in both, and none twice in `to`
void copy_places(KeyValues& kv, Index length, const Ids& from, const Ids& to);
// [one query]
/// `attention` of chapter 4 where each row has one query: over the first `length` keys and values
/// at its own place. Several queries may read the same.
///
/// @param q        `[n, H, 1, d_k]`
/// @param kv       at B places, `[B, H, room, d_k]`
/// @param length   at least 1, and not more than there is room for
/// @param hidden   `[B, 1, room, 1]`, 1 = hide
/// @param places   at which of the B places each query reads, `[n]`
/// @param options  of the attention: its scale and its fill
/// @return         `[n, H, 1, d_k]`
/// @throws std::invalid_argument if the sizes do not fit, or there is no such place
Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& places, const AttentionOptions& options);

}  // namespace abh
