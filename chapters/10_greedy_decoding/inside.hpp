#pragma once

#include "chapters/10_greedy_decoding/greedy_translator.hpp"

namespace abh {
// [inside]
/// What the parts of a model that knows the grammar do with a sentence that it has not seen:
/// 你 认 识 两 个 老 师 吗. Each chapter that builds a part shows its picture.
/// @param without  the same model, but trained without position codes
/// @param seed     the model's seed in training, from which its first weights are drawn again
/// @param results  receives `word_cosines` of what training added to the target's table, the
///                 weights `cross` and `heads` (of the encoder's first layer), `units` (hidden
///                 units by word) and `lens` (the probability of each word that is said, after each
///                 layer); for two sentences of the same words, with and `without` codes, what is
///                 said and where the last cross-attention looks: `one_...`, `other_...`
/// @throws std::invalid_argument if the model does not know the sentence's words
void show_inside(const GreedyTranslator& translator, const GreedyTranslator& without,
                 const Corpus& corpus, std::uint64_t seed, Results& results);

}  // namespace abh
