#pragma once

#include "chapters/13_real_translation/practice/validation.hpp"
#include "chapters/13_real_translation/scores/score_words.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/io/results.hpp"

namespace abh {
// [reports]
/// What a model made of held-out sentences.
struct Translated {
    const HeldOut& pairs;
    const std::vector<std::string>& translations;  ///< one for each pair
    Tokenization tokenization = Tokenization::v13a;
};

/// Sources, references and translations of `n` sentences, evenly spaced.
void show_samples(const Translated& test, Index n);
/// The sentences in four parts by the length of the source: BLEU, and what differs in form.
void show_by_length(const Translated& test, Results& results);
/// The sentences by what their references bear: BLEU, and how often it was lost or added.
/// @param train  tells which source pieces are rare
void show_by_kind(const Translated& test, std::span<const IdPair> train, Results& results);
/// Scores and speed of beam search on sentences to choose by, for several widths.
/// @param team  whose processes share the work out
void show_beams(const Transformer& model, const HeldOut& dev, const Symbols& symbols,
                const TextScoring& scoring, Results& results, const Team& team = alone());
/// The weights of the last decoder layer's attention to the source, mean over the heads, for a
/// sentence that is translated word for word as its reference is. Its pieces go into the results as
/// text, between spaces.
void record_attention(const Transformer& model, const Translated& test,
                      const std::pair<Subwords, Subwords>& subwords, const Symbols& symbols,
                      Results& results);

}  // namespace abh
