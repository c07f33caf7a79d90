#pragma once

#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [chrf]
struct ChrfOptions {
    Index characters = 6;  ///< longest n-gram of characters
    Index words = 0;       ///< longest n-gram of words: 2 makes it chrF++
    double beta = 2;       ///< recall counts beta^2 times as much as precision
    bool lowercase = false;
};

/// chrF, the F score of the n-grams of characters, spaces left out.
/// Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"; with words, 2017,
/// "chrF++: words helping character n-grams".
/// @throws std::invalid_argument unless some n-gram is counted
Metric chrf_metric(const ChrfOptions& options = {});
/// @param hypotheses, references  as for `bleu`
/// @throws std::invalid_argument as `bleu` and `chrf_metric`
Score chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
           const ChrfOptions& options = {});

}  // namespace abh
