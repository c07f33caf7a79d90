#pragma once

#include <map>
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
}  // namespace abh
