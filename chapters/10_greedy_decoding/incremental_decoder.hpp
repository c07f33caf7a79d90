#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/transformer.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"

namespace abh {
// [incremental decoder]
/// The decoder's half of a Transformer that is given one word of each prefix at a time.
///
/// Row t of masked self-attention depends on words 0..t alone, so earlier rows never change: each
/// layer keeps their keys and values, and a new word costs one row instead of t + 1.
class IncrementalDecoder {
public:
    /// Begins with one prefix of each sentence.
    /// @param model  must outlive this object
    /// @param src    ids `[B, Ls]`, shorter sentences padded behind their end; encoded here
    IncrementalDecoder(const Transformer& model, const Ids& src);

    /// Takes the next word of each of the n prefixes that go on.
    /// @param words  n of them, in the order of `sentences()`
    /// @return       the logits of the words after them, `[n, 1, tgt_words]`
    /// @throws std::invalid_argument for another number of words, or where the positions end
    Tensor next(const std::vector<std::int32_t>& words);

    /// For each of the n prefixes the sentence that it translates: 0..B-1 at first.
    std::span<const std::int32_t> sentences() const { return sentences_.values(); }
    /// Prefix i goes on from what was prefix `parents[i]`. One that nobody goes on from costs
    /// nothing from here on; where several do, it forks.
    /// @throws std::invalid_argument if there is no such prefix
    void select(const std::vector<std::int32_t>& parents);

private:
    /// What a decoder layer keeps between words.
    struct LayerState {
        KeyValues self;   ///< of the words so far, a row for each prefix
        KeyValues cross;  ///< of the source, computed once; a row for each sentence
    };

    void gather(const Ids& parents, Index room);
    Tensor self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                          const Tensor& h) const;

    const Transformer& model_;
    std::vector<LayerState> states_;  ///< one a layer
    Mask cross_hidden_;               ///< pads of the source, [B, 1, Ls, 1]
    Mask self_hidden_;                ///< pads among the words so far, [n, 1, room, 1]
    Index length_ = 0;                ///< words so far, t
    Ids sentences_;                   ///< of the prefixes, [n]: their rows of `cross`
    Ids prefixes_;                    ///< 0..n-1: their rows of `self`
};

}  // namespace abh
