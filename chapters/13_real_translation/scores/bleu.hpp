#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [words]
using Words = std::vector<std::string>;

/// The words of a line of UTF-8, as a score counts them.
/// @param tokenization  a name that sacrebleu uses: "13a" separates signs from words, as version
///        13a of the mteval script does; "zh" makes each Chinese character a word and separates
///        signs as 13a does; "char" makes each character a word; "none" splits at spaces alone
/// @throws std::invalid_argument if it is none of these, or the line is not UTF-8
Words score_words(std::string_view line, const std::string& tokenization = "13a");
// [bleu]
struct BleuOptions {
    std::string tokenization = "13a";  ///< of `score_words`
    bool lowercase = false;
    /// If true, the first order without a match counts as 1/2 of a match, the next one as 1/4, ...,
    /// which sacrebleu calls "exp". If false, such an order makes the score 0, as in the paper.
    bool smooth = true;
};

/// BLEU of a corpus, in percent: the geometric mean of the precisions of n-grams, n = 1 to 4, times
/// the brevity penalty. Papineni, Roukos, Ward, Zhu 2002, "BLEU: a method for automatic evaluation
/// of machine translation".
/// @param hypotheses  translations, one sentence each, as a reader would see them
/// @param references  one for each
/// @throws std::invalid_argument as `count_sentences` does
double bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
            const BleuOptions& options = {});
// [bleu: counts]
/// What is counted in one sentence and its reference, or sums of that over a corpus, in order: the
/// words of the hypothesis, the words of the reference, the n-grams of each order that match, and
/// the n-grams of each order in the hypothesis.
using Counts = std::vector<double>;

/// The counts of each sentence.
/// @throws std::invalid_argument if there is no sentence, or not one reference for each
std::vector<Counts> count_sentences(std::span<const std::string> hypotheses,
                                    std::span<const std::string> references,
                                    const BleuOptions& options = {});
/// Sums over sentences.
Counts sum_of(std::span<const Counts> counts);
// [bleu: parts]
/// BLEU and its parts.
struct BleuParts {
    /// In percent, for n = 1 to 4; 0 if no n-gram was said, and all are 0 if no word matches.
    std::array<double, 4> precisions{};
    double brevity_penalty = 1;
    double value = 0;  ///< in percent
};
BleuParts bleu_parts(const Counts& sums, const BleuOptions& options = {});
// [signature]
/// Everything that must be known about a score, in sacrebleu's words.
/// @param drawing  how samples were drawn, if any were: "bs:1000|seed:1"
std::string signature_of(const BleuOptions& options, const std::string& drawing = "");
/// A score in one line, as sacrebleu prints it: signature, value, and what it is made of.
/// @param interval  text to print after the value
std::string score_line(const Counts& sums, const BleuOptions& options = {},
                       const std::string& drawing = "", const std::string& interval = "");
// [bootstrap]
/// The scores of resampled test sets: as many sentences as there are, each drawn from all of them.
/// Koehn 2004, "Statistical significance tests for machine translation evaluation".
std::vector<double> bootstrap(std::span<const Counts> sentences, const BleuOptions& options,
                              std::uint64_t seed, Index samples = 1000);

/// The mean of scores, and half the width of the range of 95 % of them, as sacrebleu gives them.
struct Interval {
    double mean, half_width;
};
Interval interval_of(std::vector<double> scores);
// [paired]
/// How often chance alone makes a difference as large as that between two systems. Both are scored
/// on the same samples. The differences, less their mean, show what chance does to two equal
/// systems, so p is the share of them that exceeds the difference seen. It is 1 for systems with
/// the same score on every sample.
/// @param sentences, others  counts of the same sentences
double p_value(std::span<const Counts> sentences, std::span<const Counts> others,
               const BleuOptions& options, std::uint64_t seed, Index samples = 1000);

}  // namespace abh
