#pragma once

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [keys and values]
/// Keys and values, split into heads. There is one row for each of B prefixes or sentences, which
/// may have room for more words than it holds.
struct KeyValues {
    Tensor k, v;  ///< [B, H, room, d_k]
};

/// Writes each row's new key and value after the `length` that are there.
/// @param k, v  `[B, H, 1, d_k]`
void append(KeyValues& kv, Index length, const Tensor& k, const Tensor& v);
/// Row i of the result is row `rows[i]` of `kv`: its first `length` keys and values, then room.
/// @param rows  `[n]`; a row may be named several times, or not at all
/// @return      `[n, H, room, d_k]`
KeyValues gather(const KeyValues& kv, Index length, const Ids& rows, Index room);
// [one query]
/// Chapter 4's `attention` for single queries. Each one sees the first `length` keys and values of
/// one row of `kv`, and several queries may read the same row.
///
/// @param q        `[n, H, 1, d_k]`
/// @param kv       `[B, H, room, d_k]`
/// @param length   number of keys that are read, 1 to `room`
/// @param hidden   `[B, 1, room, 1]`, 1 = hide
/// @param rows     which of the B rows each query reads, `[n]`
/// @param options  the attention's scale and fill
/// @return         `[n, H, 1, d_k]`
/// @throws std::invalid_argument if the sizes do not fit, or a row does not exist
Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& rows, const AttentionOptions& options);

}  // namespace abh
