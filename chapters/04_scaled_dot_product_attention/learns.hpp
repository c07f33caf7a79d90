#pragma once

#include <string>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/linear.hpp"

namespace abh::example {
// [pairs]
/// The words of the Chinese-English toy in the order of their ids, and its three sentence pairs.
extern const std::vector<std::string> chinese_words, english_words;
extern const Ids source,  ///< [3, 8], with padding
    said,                 ///< [3, 7]: S and the translation
    next;                 ///< [3, 7]: the translation and E, what is to be said after each of these
// [translator]
/// What a `TinyTranslator` does with the source sentence.
enum class Look { at_nothing, at_all_alike, by_attention };

/// Says a next word from the last word and what one attention finds in the source: chapter 1's
/// table of next words with a look at the other sentence.
struct TinyTranslator {
    static constexpr Index d = 8;

    TinyTranslator(Look look, Random& random);

    /// @param mask  [3, 1, 7, 8]
    /// @return      the probability of each word, [3, 7, 12]
    Tensor forward(const Mask& mask);
    /// Gradient descent by `rate` on the mean of -log p(next).
    /// @param p  what `forward` has just returned
    void step(const Tensor& p, Real rate);

    Look look;
    Embedding english, chinese;
    Linear last;
    Embedding::Cache of_english, of_chinese;
    AttentionCache of_attention;
    Linear::Cache of_last;
};

}  // namespace abh::example
