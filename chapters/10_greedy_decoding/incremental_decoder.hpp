#pragma once

#include <span>
#include <vector>

#include "chapters/09_training/model/transformer.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"

namespace abh {
// [incremental decoder]
/// The decoder's half of a Transformer, which reads one word of each prefix at a time.
///
/// Row t of masked self-attention depends on words 0..t alone, so earlier rows never change. Each
/// layer therefore keeps their keys and values, and a new word costs one row instead of t + 1.
class IncrementalDecoder {
public:
    /// Begins with one prefix for each sentence, without words.
    /// @param model  must outlive this object
    /// @param src    ids `[B, Ls]`, shorter sentences padded after their end; encoded here
    IncrementalDecoder(const Transformer& model, const Ids& src);

    /// Takes the next word of each of the n prefixes that go on.
    /// @param words  n words, in the order of `sentences()`
    /// @return       the logits of the words after them, `[n, 1, tgt_words]`
    /// @throws std::invalid_argument for another number of words, or if no position is left
    Tensor next(const std::vector<std::int32_t>& words);

    /// The sentence that each of the n prefixes translates; 0..B-1 at first.
    std::span<const std::int32_t> sentences() const { return sentences_.values(); }
    /// Prefix i goes on from what was prefix `parents[i]`. A prefix that is not named costs nothing
    /// from then on; one that is named several times forks.
    /// @throws std::invalid_argument if a parent does not exist
    void select(const std::vector<std::int32_t>& parents);

private:
    /// What a decoder layer keeps between words.
    struct LayerState {
        KeyValues self;   ///< of the words so far, one row per prefix
        KeyValues cross;  ///< of the source, computed once; one row per sentence
    };

    void gather(const Ids& parents, Index room);
    Tensor row(const Ids& words);
    Tensor self_attention(const MultiHeadAttention& attention, KeyValues& kv,
                          const Tensor& h) const;
    Tensor cross_attention(const MultiHeadAttention& attention, const KeyValues& kv,
                           const Tensor& h) const;

    const Transformer& model_;
    std::vector<LayerState> states_;  ///< one per layer
    Mask cross_hidden_;               ///< pads of the source, [B, 1, Ls, 1]
    Mask self_hidden_;                ///< pads among the words so far, [n, 1, room, 1]
    Index length_ = 0;                ///< words so far, t
    Ids sentences_;                   ///< of the prefixes, [n]: their rows of `cross`
    Ids prefixes_;                    ///< 0..n-1: their rows of `self`
};

}  // namespace abh
