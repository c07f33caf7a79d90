#pragma once

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [keys and values]
/// Keys and values of some sentences, cut into heads, with room for more words than are there.
struct KeyValues {
    Tensor k, v;  ///< [B, H, room, d_k]
};

/// Puts the new words' keys and values behind those of their sentences: they become row `at`.
/// @param k, v       `[n, H, 1, d_k]`
/// @param sentences  which of the B sentences each belongs to, `[n]`
void append(KeyValues& kv, const Tensor& k, const Tensor& v, Index at, const Ids& sentences);
/// `[B, H, room, d_k]` becomes `[B, H, 2 room, d_k]`: what these sentences have, and new room
/// behind it.
Tensor double_room(const Tensor& rows, const Ids& sentences);
// [one query]
/// `attention` of chapter 4 where each sentence has one query: over the first `length` keys and
/// values of its own.
///
/// @param q          `[n, H, 1, d_k]`
/// @param kv         of B sentences, `[B, H, room, d_k]`
/// @param length     at least 1, and not more than there is room for
/// @param hidden     `[B, 1, room, 1]`, 1 = hide
/// @param sentences  which of the B sentences each query belongs to, `[n]`
/// @param options    of the attention: its scale and its fill
/// @return           `[n, H, 1, d_k]`
/// @throws std::invalid_argument if the sizes do not fit, or there is no such sentence
Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& sentences, const AttentionOptions& options);

}  // namespace abh
