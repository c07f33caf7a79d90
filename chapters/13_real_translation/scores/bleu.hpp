#pragma once

#include <array>

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [bleu]
struct BleuOptions {
    std::string tokenization = "13a";  ///< of `score_words`
    bool lowercase = false;
    /// If true, the first order without a match counts as 1/2 of a match, the next one as 1/4, ...,
    /// which sacrebleu calls "exp". If false, such an order makes the score 0, as in the paper.
    bool smooth = true;
};

/// BLEU, the geometric mean of the precisions of n-grams, n = 1 to 4, times the brevity penalty.
/// Papineni, Roukos, Ward, Zhu 2002, "BLEU: a method for automatic evaluation of machine
/// translation".
Metric bleu_metric(const BleuOptions& options = {});
/// The score of a corpus, in percent.
/// @param hypotheses  translations, one sentence each, as a reader would see them
/// @param references  one for each
/// @throws std::invalid_argument if there is no sentence, or not one reference for each
double bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
            const BleuOptions& options = {});
// [bleu: parts]
/// BLEU and its parts.
struct BleuParts {
    /// In percent, for n = 1 to 4; 0 if no n-gram was said, and all are 0 if no word matches.
    std::array<double, 4> precisions{};
    double brevity_penalty = 1;
    double value = 0;  ///< in percent
};
BleuParts bleu_parts(const Counts& sums, const BleuOptions& options = {});

}  // namespace abh
