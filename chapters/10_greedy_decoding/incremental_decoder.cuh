#pragma once

#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

namespace abh::cuda {
// [decoding on the device]
// What incremental_decoder.cpp computes on the processor; it has checked all shapes.

/// @param weights  `[n, H, length]`, room for the weights of attention
void attend_one(Tensor& y, Tensor& weights, const Tensor& q, const KeyValues& kv,
                const Mask& hidden, const Ids& sentences, Real scale, Real fill);
/// Copies the rows of these sentences, `[B, H, room, d]`, to the beginning of larger rooms.
template <class T>
void copy_rows(BasicTensor<T>& to, const BasicTensor<T>& from, const Ids& sentences);
/// Row `[n, H, 1, d_k]` of keys, and of values, becomes row `at` of its sentence.
void put(KeyValues& rows, const Tensor& k, const Tensor& v, Index at, const Ids& sentences);
/// Hides row `at` of each sentence whose word is `word`, if `hide`; shows all others.
void hide_word(Mask& hidden, const Ids& words, std::int32_t word, bool hide, Index at,
               const Ids& sentences);

}  // namespace abh::cuda
