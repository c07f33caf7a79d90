#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [score]
/// What a metric says about a translated text.
struct Score {
    double value;           ///< in percent
    std::string signature;  ///< what two scores must have in common to be compared
    std::string text;       ///< name, signature, value and what it is made of, in one line
};
// [metric]
/// Numbers counted in one sentence and its reference, or their sums over a corpus.
using Counts = std::vector<double>;

/// A metric: what it counts in a sentence, and what the sums over a corpus are worth.
struct Metric {
    std::string name;      ///< "BLEU"
    std::string settings;  ///< "case:mixed|eff:no|tok:13a|smooth:exp", as sacrebleu writes them
    bool higher_is_better = true;
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
/// The score of a corpus. @throws std::invalid_argument as `count_sentences`
Score corpus_score(const Metric& metric, std::span<const std::string> hypotheses,
                   std::span<const std::string> references);
/// All that must be known of a score, in sacrebleu's words.
/// @param drawing  how samples were drawn, where they were: "bs:1000|seed:1"
std::string signature_of(const Metric& metric, const std::string& drawing = "");
// [n-grams]
/// How often each run of `n` neighbours occurs in a sentence of words or of characters.
template <class Sentence>
std::map<Sentence, Index> count_ngrams(const Sentence& sentence, Index n) {
    std::map<Sentence, Index> counts;
    for (auto begin = sentence.begin(); sentence.end() - begin >= n; ++begin)
        ++counts[Sentence(begin, begin + n)];
    return counts;
}

/// How many n-grams are common to both: each as often as it occurs in the one that has fewer of it.
template <class Sentence>
Index count_common(const std::map<Sentence, Index>& a, const std::map<Sentence, Index>& b) {
    Index common = 0;
    for (const auto& [ngram, count] : a)
        if (const auto other = b.find(ngram); other != b.end())
            common += std::min(count, other->second);
    return common;
}

}  // namespace abh
