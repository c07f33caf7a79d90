#pragma once

#include "chapters/13_real_translation/practice/validation.hpp"
#include "chapters/13_real_translation/subwords/subwords.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [reports]
/// What a model made of held-out sentences.
struct Translated {
    const HeldOut& pairs;
    const std::vector<std::string>& translations;  ///< one for each pair
};

/// Sources, references and translations of `n` sentences, evenly spaced.
void show_samples(const Translated& test, std::size_t n);
/// The sentences in four parts by the length of the source: BLEU, and those that are their
/// reference.
void show_by_length(const Translated& test, const TextScoring& scoring, Results& results);
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
