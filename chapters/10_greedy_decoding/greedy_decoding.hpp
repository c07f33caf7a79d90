#pragma once

#include <vector>

#include "chapters/09_training/model/transformer.hpp"

namespace abh {
// [options]
/// The symbols that begin and end a translation, and how long we wait for the end.
struct DecodingOptions {
    std::int32_t start = 0;  ///< first input of the decoder
    std::int32_t end = 0;    ///< the word that ends a translation; negative: no word does
    Index max_words = 50;    ///< stop after this many words even without the end symbol
    /// Leave dropout on, like a program that forgets to turn it off. What is dropped depends on the
    /// step of the model's random numbers, so it is the same throughout one translation.
    bool dropout = false;
};

/// What greedy decoding found.
struct Translation {
    std::vector<std::int32_t> ids;          ///< the words, without start and end symbol
    std::vector<Real> probabilities;        ///< of each word; last, of the end symbol if it came
    bool finished = false;                  ///< the end symbol came before the limit
    Transformer::AttentionWeights weights;  ///< of the last pass, if asked for
};
// [greedy]
/// Translates word by word, always taking the likeliest. It encodes once; then it decodes the whole
/// prefix, looks at the last row, and appends the word with the largest entry (the first, if
/// several are equal), until this is the end symbol, there are `max_words` words, or the model's
/// positions are used up.
///
/// @param src  ids `[1, Ls]`
/// @param with_weights  keep the attention weights of the last pass, whose row t belongs to word t
/// @throws std::invalid_argument if `src` has another shape or is longer than the model's
///         positions, if `max_words` is less than 1, or if the start symbol is padding that the
///         decoder hides
Translation greedy_decode(const Transformer& model, const Ids& src, const DecodingOptions& options,
                          bool with_weights = false);
// [cached]
/// Finds the same translations as `greedy_decode`, but for all sentences at once and with a
/// key-value cache. A sentence that has ended costs nothing from then on.
///
/// @param src  ids `[B, Ls]`, shorter sentences padded after their end
/// @return     B translations, without attention weights
/// @throws std::invalid_argument as `greedy_decode` does, except that any B >= 1 is allowed; also
///         if `dropout` is on
std::vector<Translation> greedy_decode_cached(const Transformer& model, const Ids& src,
                                              const DecodingOptions& options);
// [cost]
/// The number of multiplications, each with its addition, in the decoder's matrix products while it
/// says `words` words for a source of `src_words` words, without or with a key-value cache. The
/// encoder is not counted, because it runs once either way.
Index decoder_multiply_adds(const TransformerOptions& options, Index src_words, Index words,
                            bool cached);

}  // namespace abh
