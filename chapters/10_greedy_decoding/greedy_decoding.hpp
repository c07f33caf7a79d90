#pragma once

#include <vector>

#include "chapters/09_training/transformer.hpp"

namespace abh {
// [options]
/// The symbols between which a translation stands, and how long we wait for the second.
struct DecodingOptions {
    std::int32_t start = 0;  ///< first input of the decoder
    std::int32_t end = 0;    ///< the word that ends a translation; negative: none does
    Index max_words = 50;    ///< stop after so many words even without the end symbol
    /// Leave dropout on, as a program does that forgets to turn it off. What is dropped depends on
    /// the step of the model's random numbers: the same within one translation.
    bool dropout = false;
};

/// What greedy decoding found.
struct Translation {
    std::vector<std::int32_t> ids;          ///< the words, without start and end symbol
    std::vector<Real> probabilities;        ///< of each word; of the end symbol last, if it came
    bool finished = false;                  ///< the end symbol came before the limit
    Transformer::AttentionWeights weights;  ///< of the last pass, where asked for
};
// [greedy]
/// Translates word by word, each time the likeliest: encode once; then decode the whole prefix,
/// look at the last row, append its largest entry (of equal ones the first); until that is the end
/// symbol, or `max_words` stand there, or the model's positions are used up.
///
/// @param src        ids `[1, Ls]`
/// @param with_weights  keep the attention weights of the last pass, whose row t chose word t
/// @throws std::invalid_argument if `src` has another shape or is longer than the model's
/// positions, if `max_words` is less than 1, or if the start symbol is padding
Translation greedy_decode(const Transformer& model, const Ids& src, const DecodingOptions& options,
                          bool with_weights = false);
// [cached]
/// The translations that `greedy_decode` finds, of all sentences at once and with a key-value
/// cache. A sentence that has ended costs nothing from there on.
///
/// @param src  ids `[B, Ls]`, shorter sentences padded behind their end
/// @return     B translations, without attention weights
/// @throws std::invalid_argument as `greedy_decode` does, but for any B >= 1; and if `dropout` is
/// on
std::vector<Translation> greedy_decode_cached(const Transformer& model, const Ids& src,
                                              const DecodingOptions& options);
// [cost]
/// Multiplications, each with its addition, in the decoder's matrix products while it says `words`
/// words about a source of `src_words` words, without or with a key-value cache. The encoder, which
/// runs once either way, does not count.
Index decoder_multiply_adds(const TransformerOptions& options, Index src_words, Index words,
                            bool cached);

}  // namespace abh
