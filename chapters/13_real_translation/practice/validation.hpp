#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "chapters/09_training/transformer.hpp"
#include "chapters/13_real_translation/data/token_batches.hpp"
#include "chapters/13_real_translation/practice/team.hpp"

namespace abh {
// [validation]
/// Pairs that training never sees, as ids and as text.
struct HeldOut {
    std::vector<IdPair> ids;
    std::vector<std::string> sources, references;
};

/// What turns ids into text, and scores texts against references, in percent.
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

/// Loss and score of a model. Translations are scored as text, so that another vocabulary has
/// comparable scores.
/// @param team  whose processes share the work out; each gets the whole result, the same bits for
/// any team
Validation validate(const Transformer& model, const HeldOut& held_out, const Symbols& symbols,
                    const TextScoring& scoring, const Team& team = alone());
// [parts]
/// The loss alone.
double mean_loss(const Transformer& model, std::span<const IdPair> pairs, const Symbols& symbols,
                 const Team& team = alone());
/// Translates some sources, one translation for each.
using TranslateSome = std::function<std::vector<std::vector<std::int32_t>>(
    std::span<const std::vector<std::int32_t>* const> sources)>;
/// Translations of all sources, in their order: `translate` gets at most so many at once, of like
/// lengths, and the processes of `team` share the work out.
std::vector<std::vector<std::int32_t>> share_sentences(std::span<const IdPair> pairs,
                                                       std::size_t at_once, const Team& team,
                                                       const TranslateSome& translate);
/// Greedy translations of the sources, in their order, at most twice as long as the longest source
/// of a batch and 10 words.
std::vector<std::vector<std::int32_t>> translate_greedily(const Transformer& model,
                                                          std::span<const IdPair> pairs,
                                                          const Symbols& symbols,
                                                          const Team& team = alone());

}  // namespace abh
