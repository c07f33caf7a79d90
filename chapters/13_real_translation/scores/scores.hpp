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

/// The words of a line of UTF-8 that are counted.
/// @param tokenization  a name that sacrebleu uses: "13a", as the mteval script, version 13a, signs
///        apart from words; "zh", each Chinese character is a word, the rest as in 13a; "char",
///        each character is a word; "none", what stands between spaces
/// @throws std::invalid_argument if it is none of these, or the line is not UTF-8
Words score_words(std::string_view line, const std::string& tokenization = "13a");
// [metric]
/// Numbers counted in one sentence and its reference, or their sums over a corpus.
using Counts = std::vector<double>;

/// A metric: what it counts in a sentence, and what the sums over a corpus are worth.
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
/// All that must be known of a score, in sacrebleu's words.
/// @param drawing  how samples were drawn, where they were: "bs:1000|seed:1"
std::string signature_of(const Metric& metric, const std::string& drawing = "");
/// A score in one line, as sacrebleu prints it: name, signature, value, and what it is made of.
/// @param interval  stands behind the value
std::string score_line(const Metric& metric, const Counts& sums, const std::string& drawing = "",
                       const std::string& interval = "");
// [n-grams]
/// How many runs of `n` neighbors a sentence has.
inline double ngrams_in(const Words& sentence, Index n) {
    return static_cast<double>(std::max<Index>(0, std::ssize(sentence) - n + 1));
}

/// How often each of them occurs.
inline std::map<Words, Index> count_ngrams(const Words& sentence, Index n) {
    std::map<Words, Index> counts;
    for (auto begin = sentence.begin(); sentence.end() - begin >= n; ++begin)
        ++counts[Words(begin, begin + n)];
    return counts;
}

/// How many are common to both: each as often as it occurs in the sentence that has fewer of it.
inline double common_ngrams(const Words& a, const Words& b, Index n) {
    Index common = 0;
    const auto others = count_ngrams(b, n);
    for (const auto& [ngram, count] : count_ngrams(a, n))
        if (const auto other = others.find(ngram); other != others.end())
            common += std::min(count, other->second);
    return static_cast<double>(common);
}
// [bootstrap]
/// The scores of test sets drawn again: each has as many sentences as there are, each any of them.
/// Koehn 2004, "Statistical significance tests for machine translation evaluation".
/// @throws std::invalid_argument if there is no sentence or no sample
std::vector<double> bootstrap(const Metric& metric, std::span<const Counts> sentences,
                              std::uint64_t seed, Index samples = 1000);

/// A mean, and what is around it in 95 of 100 samples, as sacrebleu gives them.
struct Interval {
    double mean, half_width;
};
Interval interval_of(std::vector<double> scores);
// [paired]
/// How often chance alone makes a difference as large as that of two systems. Both are scored on
/// the same samples; the differences, less their mean, show what chance does to two equal systems,
/// and p is the share of them that exceeds the difference seen. It is 1 for systems that have the
/// same score on every sample.
/// @param sentences, others  counts of the same sentences. @throws std::invalid_argument otherwise
double p_value(const Metric& metric, std::span<const Counts> sentences,
               std::span<const Counts> others, std::uint64_t seed, Index samples = 1000);

}  // namespace abh
