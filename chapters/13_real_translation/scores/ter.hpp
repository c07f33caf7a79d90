#pragma once

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [ter]
struct TerOptions {
    bool case_sensitive = false;
    bool normalize = false;       ///< signs apart from words
    bool no_punctuation = false;  ///< . , ? : ; ! " ( ) left out
};

/// TER, the edits that turn the hypothesis into the reference, for each word of the reference. An
/// edit inserts, deletes or replaces a word, or shifts a run of words to another place.
/// Snover, Dorr, Schwartz, Micciulla, Makhoul 2006, "A study of translation edit rate with targeted
/// human annotation"; the search for shifts is greedy, as tercom's and sacrebleu's.
Metric ter_metric(const TerOptions& options = {});
/// @param hypotheses, references  as for `bleu`. @throws std::invalid_argument as `bleu`
Score ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
          const TerOptions& options = {});
// [ter: edits]
/// The edits that turn one sentence into another, words given as numbers.
Index count_edits(std::vector<std::int32_t> hypothesis, const std::vector<std::int32_t>& reference);

}  // namespace abh
