#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/transformer.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"

namespace abh {
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
    void hide_pads(const Ids& words);
    Tensor attend(const MultiHeadAttention& attention, const Tensor& q, const KeyValues& kv,
                  Index length, const Mask& hidden) const;
    Tensor self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                          const Tensor& h) const;

    const Transformer& model_;
    std::vector<LayerState> states_;  ///< one a layer
    Mask cross_hidden_;               ///< pads of the source, [B, 1, Ls, 1]
    Mask self_hidden_;                ///< pads among the words so far, [B, 1, room, 1]
    Index length_ = 0;                ///< words so far, t
    Ids sentences_;                   ///< that go on, [n]
};

}  // namespace abh
