#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [words]
using Words = std::vector<std::string>;

/// The words of a line of UTF-8, as a metric counts them.
/// @param tokenization  a name that sacrebleu uses: "13a" separates signs from words, as version
///        13a of the mteval script does; "zh" makes each Chinese character a word and separates
///        signs as 13a does; "char" makes each character a word; "none" splits at spaces alone
/// @throws std::invalid_argument if it is none of these, or the line is not UTF-8
Words score_words(std::string_view line, const std::string& tokenization = "13a");
// [metric]
/// Numbers counted in one sentence and its reference, or their sums over a corpus.
using Counts = std::vector<double>;

/// A metric: what it counts in a sentence, and the value of the sums over a corpus.
struct Metric {
    std::string name;      ///< "BLEU"
    std::string settings;  ///< "case:mixed|eff:no|tok:13a|smooth:exp", as sacrebleu writes them
    std::function<Counts(const std::string& hypothesis, const std::string& reference)> count;
    std::function<double(const Counts& sums)> value;            ///< in percent
    std::function<std::string(const Counts& sums)> parts = {};  ///< what the value is made of
};

/// The counts of each sentence.
/// @throws std::invalid_argument if there is no sentence, or not one reference for each
std::vector<Counts> count_sentences(const Metric& metric, std::span<const std::string> hypotheses,
                                    std::span<const std::string> references);
/// Sums over sentences.
Counts sum_of(std::span<const Counts> counts);
// [signature]
/// Everything that must be known about a score, in sacrebleu's words.
/// @param drawing  how samples were drawn, if any were: "bs:1000|seed:1"
std::string signature_of(const Metric& metric, const std::string& drawing = "");
/// A score in one line, as sacrebleu prints it: name, signature, value, and what it is made of.
/// @param interval  text to print after the value
std::string score_line(const Metric& metric, const Counts& sums, const std::string& drawing = "",
                       const std::string& interval = "");
// [n-grams]
/// How many runs of `n` neighboring words a sentence has.
inline double ngrams_in(const Words& sentence, Index n) {
    return static_cast<double>(std::max<Index>(0, std::ssize(sentence) - n + 1));
}

/// How often each of these runs occurs.
inline std::map<Words, Index> count_ngrams(const Words& sentence, Index n) {
    std::map<Words, Index> counts;
    for (auto begin = sentence.begin(); sentence.end() - begin >= n; ++begin)
        ++counts[Words(begin, begin + n)];
    return counts;
}

/// How many runs both have in common, each counted as often as in the sentence with fewer of it.
inline double common_ngrams(const Words& a, const Words& b, Index n) {
    Index common = 0;
    const auto others = count_ngrams(b, n);
    for (const auto& [ngram, count] : count_ngrams(a, n))
        if (const auto other = others.find(ngram); other != others.end())
            common += std::min(count, other->second);
    return static_cast<double>(common);
}
// [bootstrap]
/// The scores of resampled test sets: as many sentences as there are, each drawn from all of them.
/// Koehn 2004, "Statistical significance tests for machine translation evaluation".
/// @throws std::invalid_argument if there is no sentence or no sample
std::vector<double> bootstrap(const Metric& metric, std::span<const Counts> sentences,
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
/// @param sentences, others  counts of the same sentences. @throws std::invalid_argument otherwise
double p_value(const Metric& metric, std::span<const Counts> sentences,
               std::span<const Counts> others, std::uint64_t seed, Index samples = 1000);

}  // namespace abh
