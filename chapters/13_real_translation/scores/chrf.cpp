#include "chapters/13_real_translation/scores/chrf.hpp"

#include <numeric>

#include "chapters/13_real_translation/data/text.hpp"
#include "chapters/13_real_translation/scores/score_words.hpp"

namespace abh {
// [words]
namespace {

bool is_punctuation(char32_t c) {
    return c > 0x20 && c < 0x7F && !(c >= U'0' && c <= U'9') && !(c >= U'A' && c <= U'Z') &&
           !(c >= U'a' && c <= U'z');
}

/// The words of a line; a sign at a word's end, or else at its beginning, is a word of its own.
std::vector<std::u32string> words_and_signs(std::u32string_view line) {
    std::vector<std::u32string> words;
    for (const std::u32string& word : split_at_spaces(line)) {
        std::size_t cut = 0;
        if (word.size() > 1 && is_punctuation(word.back()))
            cut = word.size() - 1;
        else if (word.size() > 1 && is_punctuation(word.front()))
            cut = 1;
        if (cut > 0) words.push_back(word.substr(0, cut));
        words.push_back(word.substr(cut));
    }
    return words;
}
// [count]
/// n-grams of the hypothesis, of the reference, and common to both, for each order to `longest`.
template <class Sentence>
void count_orders(Counts& counts, const Sentence& hypothesis, const Sentence& reference,
                  Index longest) {
    const auto total = [](const auto& ngrams) {
        Index sum = 0;
        for (const auto& [ngram, count] : ngrams) sum += count;
        return static_cast<double>(sum);
    };
    for (Index n = 1; n <= longest; ++n) {
        const auto said = count_ngrams(hypothesis, n), wanted = count_ngrams(reference, n);
        // where the reference has none of this length, those of the hypothesis do not count
        counts.insert(counts.end(), {wanted.empty() ? 0 : total(said), total(wanted),
                                     static_cast<double>(count_common(said, wanted))});
    }
}

Counts count_chrf(const std::string& hypothesis, const std::string& reference,
                  const ChrfOptions& options) {
    const auto text = [&](const std::string& line) {
        return code_points(options.lowercase ? lower_case(line) : line);
    };
    const auto joined = [](std::u32string_view line) {
        std::u32string characters;
        for (const std::u32string& word : split_at_spaces(line)) characters += word;
        return characters;
    };
    const std::u32string said = text(hypothesis), wanted = text(reference);
    Counts counts;
    count_orders(counts, joined(said), joined(wanted), options.characters);
    count_orders(counts, words_and_signs(said), words_and_signs(wanted), options.words);
    return counts;
}
// [value]
/// Mean precision and recall of the orders that both sides have, as one number.
double chrf_value(const Counts& sums, double beta) {
    double precision = 0, recall = 0, orders = 0;
    for (std::size_t k = 0; k < sums.size(); k += 3) {
        const double said = sums[k], wanted = sums[k + 1], common = sums[k + 2];
        if (said == 0 || wanted == 0) continue;
        precision += common / said;
        recall += common / wanted;
        ++orders;
    }
    if (precision + recall == 0) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + beta * beta) * precision * recall / (beta * beta * precision + recall);
}

}  // namespace
// [metric]
Metric chrf_metric(const ChrfOptions& options) {
    require(options.characters >= 0 && options.words >= 0 && options.characters + options.words > 0,
            "chrF: n-grams of up to {} characters and up to {} words", options.characters,
            options.words);
    Metric metric;
    metric.name = fmt::format("chrF{}{}", options.beta,
                              std::string(static_cast<std::size_t>(options.words), '+'));
    metric.settings =
        fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:no", options.lowercase ? "lc" : "mixed",
                    options.characters, options.words);
    metric.count = [options](const std::string& hypothesis, const std::string& reference) {
        return count_chrf(hypothesis, reference, options);
    };
    metric.value = [options](const Counts& sums) { return chrf_value(sums, options.beta); };
    return metric;
}

Score chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
           const ChrfOptions& options) {
    return corpus_score(chrf_metric(options), hypotheses, references);
}

}  // namespace abh
