#pragma once

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [metrics]
/// chrF, the F score of the n-grams of characters, n = 1 to 6, spaces left out, with beta = 2.
/// Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation".
Metric chrf_metric(bool lowercase = false);

/// TER, the edits that turn the hypothesis into the reference, for each word of the reference,
/// without regard to case. An edit inserts, deletes or replaces a word, or shifts a run of words to
/// another place.
/// Snover, Dorr, Schwartz, Micciulla, Makhoul 2006, "A study of translation edit rate with targeted
/// human annotation"; the search for shifts is greedy, as tercom's and sacrebleu's.
Metric ter_metric();

}  // namespace abh
