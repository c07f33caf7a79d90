#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/model/transformer.hpp"
#include "chapters/13_real_translation/data/token_batches.hpp"
#include "chapters/13_real_translation/practice/team.hpp"

namespace abh {
// [validation]
/// Pairs that training never sees, as ids and as text.
struct HeldOut {
    std::vector<IdPair> ids;
    std::vector<std::string> sources, references;
    std::string beside =
        {};  ///< what does not count as it stands in the file, to be said beside a score
};

/// The functions that turn ids into text, and score texts against references, in percent.
struct TextScoring {
    std::function<std::string(std::span<const std::int32_t>)> text;
    std::function<double(std::span<const std::string> hypotheses,
                         std::span<const std::string> references)>
        score;
};

/// How well a model does on held-out pairs, with dropout off.
struct Validation {
    double loss = 0;   ///< mean cross entropy per target word, its end included, without smoothing
    double score = 0;  ///< of the translations
    std::vector<std::string> translations;  ///< greedy, in the order of the pairs
};

/// Loss and score of a model. Translations are scored as text, so that the scores of models with
/// different vocabularies are comparable.
/// @param team  the processes that share the work; each gets the same result, to the bit, and so
///              does any other team
Validation validate(const Transformer& model, const HeldOut& held_out, const Symbols& symbols,
                    const TextScoring& scoring, const Team& team = alone());
// [parts]
/// The loss alone.
double mean_loss(const Transformer& model, std::span<const IdPair> pairs, const Symbols& symbols,
                 const Team& team = alone());
/// Translates a few sources, with one translation for each.
using TranslateSome = std::function<std::vector<std::vector<std::int32_t>>(
    std::span<const std::vector<std::int32_t>* const> sources)>;
/// Translations of all sources, in their order. `translate` gets at most `at_once` of them, of
/// similar length, at a time, and the processes of `team` share the work.
std::vector<std::vector<std::int32_t>> share_sentences(std::span<const IdPair> pairs,
                                                       std::size_t at_once, const Team& team,
                                                       const TranslateSome& translate);
/// Greedy translations of the sources, in their order. None has more words than twice the longest
/// source of its batch, including the end symbol, plus 10.
std::vector<std::vector<std::int32_t>> translate_greedily(const Transformer& model,
                                                          std::span<const IdPair> pairs,
                                                          const Symbols& symbols,
                                                          const Team& team = alone());

}  // namespace abh
