#pragma once

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [keys and values]
/// Keys and values, cut into heads, a row for each of B prefixes or sentences, with room for more
/// words than are there.
struct KeyValues {
    Tensor k, v;  ///< [B, H, room, d_k]
};

/// Puts each row's new key and value behind the `length` that are there.
/// @param k, v  `[B, H, 1, d_k]`
void append(KeyValues& kv, Index length, const Tensor& k, const Tensor& v);
/// Row i of the result is row `rows[i]` of `kv`: its first `length` keys and values, and new room
/// behind them.
/// @param rows  `[n]`; a row may be named several times, or not at all
/// @return      `[n, H, room, d_k]`
KeyValues gather(const KeyValues& kv, Index length, const Ids& rows, Index room);
// [one query]
/// `attention` of chapter 4 where each row has one query: over the first `length` keys and values
/// of its row of `kv`. Several queries may read the same.
///
/// @param q        `[n, H, 1, d_k]`
/// @param kv       `[B, H, room, d_k]`
/// @param length   at least 1, and not more than there is room for
/// @param hidden   `[B, 1, room, 1]`, 1 = hide
/// @param rows     which of the B rows each query reads, `[n]`
/// @param options  of the attention: its scale and its fill
/// @return         `[n, H, 1, d_k]`
/// @throws std::invalid_argument if the sizes do not fit, or there is no such row
Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& rows, const AttentionOptions& options);

}  // namespace abh
