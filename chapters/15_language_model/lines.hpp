#pragma once

#include <span>
#include <string>
#include <vector>

#include "chapters/03_masks/packing.hpp"
#include "chapters/09_training/data/corpus.hpp"

namespace abh {
// [lines]
inline constexpr const char* arrow_word = "→";  ///< between a sentence and its translation

/// The pair as one text: `我 有 一 个 好 朋 友 → I have a good friend . E`.
std::vector<std::string> line_of(const SentencePair& pair);
/// All words of both languages, and the symbols, in one vocabulary; the pad has id 0.
Vocabulary line_vocabulary(const Corpus& corpus);
// [batch]
/// Which words of a line the loss counts.
enum class Counted {
    translation,  ///< those after the arrow
    all           ///< every word but the first, which nothing stands before
};

/// Lines that are computed together. The model reads each word, and predicts the next one.
struct LineBatch {
    Sentences read;  ///< [B, L], lines without their end symbols, and how they are packed
    Ids targets;     ///< [1, rows], the next word of each, or the pad where it does not count
    Index n_targets = 0;
};
/// @throws std::invalid_argument naming a word that is not in the vocabulary, or if there is no
/// line
LineBatch make_line_batch(const Vocabulary& words, std::span<const SentencePair> pairs,
                          std::span<const Index> numbers, Counted counted);

}  // namespace abh
