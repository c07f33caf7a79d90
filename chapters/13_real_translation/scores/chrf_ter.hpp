#pragma once

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [metrics]
/// chrF, the F score with beta = 2 of n-grams of characters for n = 1 to 6, without spaces.
/// Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation".
Metric chrf_metric(bool lowercase = false);

/// TER, the number of edits that turn the hypothesis into the reference, per word of the reference,
/// without regard to case. An edit inserts, deletes or replaces a word, or shifts a run of words to
/// another place.
/// Snover, Dorr, Schwartz, Micciulla, Makhoul 2006, "A study of translation edit rate with targeted
/// human annotation"; the search for shifts is greedy, as in tercom and sacrebleu.
Metric ter_metric();

}  // namespace abh
