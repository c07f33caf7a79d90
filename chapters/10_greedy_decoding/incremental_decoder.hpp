#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/transformer.hpp"

namespace abh {
// [keys and values]
/// Keys and values of some sentences, cut into heads, with room for more words than are there.
struct KeyValues {
    Tensor k, v;  ///< [B, H, room, d_k]
};
// [one query]
/// `attention` of chapter 4 where each sentence has one query: over the first `length` keys and
/// values of its own.
///
/// @param q          `[n, H, 1, d_k]`
/// @param kv         of B sentences, `[B, H, room, d_k]`
/// @param length     at least 1, and not more than there is room for
/// @param hidden     `[B, 1, room, 1]`, 1 = hide, whatever the options say
/// @param sentences  which of the B sentences each query belongs to, `[n]`
/// @param options    of the attention: its scale and its fill
/// @return           `[n, H, 1, d_k]`
/// @throws std::invalid_argument if the sizes do not fit, or there is no such sentence
Tensor attend_one(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                  const Ids& sentences, const AttentionOptions& options);
// [incremental decoder]
/// The decoder's half of a Transformer that is given one word of each sentence at a time.
///
/// Row t of masked self-attention depends on words 0..t alone, so earlier rows never change: each
/// layer keeps their keys and values, and a new word costs one row instead of t + 1.
class IncrementalDecoder {
public:
    /// @param model  must outlive this object
    /// @param src    ids `[B, Ls]`, shorter sentences padded behind their end; encoded here
    IncrementalDecoder(const Transformer& model, const Ids& src);

    /// Takes the next word of each of the n sentences that go on.
    /// @param words  n of them, in the order of `sentences()`
    /// @return       the logits of the words after them, `[n, 1, tgt_words]`
    /// @throws std::invalid_argument for another number of words, or where the positions end
    Tensor next(const std::vector<std::int32_t>& words);

    /// The sentences that go on, ascending: all of 0..B-1 at first.
    std::span<const std::int32_t> sentences() const { return sentences_.values(); }
    /// Goes on with these alone; the others cost nothing from here on.
    /// @throws std::invalid_argument unless they are some of `sentences()`, ascending
    void keep(const std::vector<std::int32_t>& sentences);

private:
    /// What a decoder layer keeps between words.
    struct LayerState {
        KeyValues self;   ///< of the words so far
        KeyValues cross;  ///< of the source, computed once; room for Ls words
    };

    void make_room();
    void put(KeyValues& rows, const Tensor& k, const Tensor& v) const;
    void hide_pads(const Ids& words);
    Tensor attend(const MultiHeadAttention& attention, const Tensor& q, const KeyValues& kv,
                  Index length, const Mask& hidden) const;
    Tensor layer(const DecoderLayer& layer, LayerState& state, const Tensor& x) const;

    const Transformer& model_;
    std::vector<LayerState> states_;  ///< one a layer
    Mask cross_hidden_;               ///< pads of the source, [B, 1, Ls, 1]
    Mask self_hidden_;                ///< pads among the words so far, [B, 1, room, 1]
    Index length_ = 0;                ///< words so far, t
    Ids sentences_;                   ///< that go on, [n]
};

}  // namespace abh
