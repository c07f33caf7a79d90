#include "chapters/13_real_translation/scores/scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/13_real_translation/data/text.hpp"
#include "lib/random.hpp"

namespace abh {
// [rules]
namespace {

using Rules = std::vector<std::pair<std::regex, std::string>>;

/// Entities of XML become what they stand for.
const Rules entities{{std::regex("<skipped>"), ""},
                     {std::regex("&quot;"), "\""},
                     {std::regex("&amp;"), "&"},
                     {std::regex("&lt;"), "<"},
                     {std::regex("&gt;"), ">"}};
/// Signs of ASCII become words, except ' and -. Points and commas do so only outside numbers, and a
/// hyphen does after a digit.
const Rules signs{{std::regex("[!-&(-+/:-@[-`{-~]"), " $& "},
                  {std::regex("([^0-9])([.,])"), "$1 $2 "},
                  {std::regex("([.,])([^0-9])"), " $1 $2"},
                  {std::regex("([0-9])-"), "$1 - "}};

std::string rewritten(std::string line, const Rules& rules) {
    for (const auto& [pattern, text] : rules) line = std::regex_replace(line, pattern, text);
    return line;
}
// [characters]
/// Whether `c` is in a range. @param bounds  each range's first character, and the first after it
bool within(std::initializer_list<char32_t> bounds, char32_t c) {
    return (std::ranges::upper_bound(bounds, c) - bounds.begin()) % 2 == 1;
}

/// White space as Unicode defines it, including the wide space of Chinese.
bool is_space(char32_t c) {
    return within({0x9,    0xE,    0x1C,   0x21,   0x85,   0x86,   0xA0,   0xA1,   0x1680, 0x1681,
                   0x2000, 0x200B, 0x2028, 0x202A, 0x202F, 0x2030, 0x205F, 0x2060, 0x3000, 0x3001},
                  c);
}

/// What sacrebleu takes for Chinese. Its ranges include all characters from U+2001 to U+2A6D, and
/// so general punctuation and arrows, but none beyond U+FFFF.
bool is_chinese(char32_t c) {
    return within({0x2001, 0x2A6E, 0x2E80, 0x2FE0, 0x2FF0, 0x3040, 0x3100, 0x3130, 0x31A0,
                   0x31F0, 0x3200, 0x4DB6, 0x4E00, 0x9FBC, 0xF900, 0xFA2E, 0xFA30, 0xFA6B,
                   0xFA70, 0xFADA, 0xFE10, 0xFE20, 0xFE30, 0xFE50, 0xFF00, 0xFFF0},
                  c);
}

}  // namespace
// [words]
Words score_words(std::string_view line, const std::string& tokenization) {
    const bool v13a = tokenization == "13a", zh = tokenization == "zh",
               all = tokenization == "char";
    require(v13a || zh || all || tokenization == "none",
            "tokenization {}: expected 13a, zh, char or none", printable(tokenization));
    std::u32string spaced;
    for (const char32_t c : code_points(line)) {
        if (is_space(c))
            spaced += U' ';
        else if (all || (zh && is_chinese(c)))
            spaced += {U' ', c, U' '};
        else
            spaced += c;
    }
    const Words words = split_words(utf8(spaced));
    if (zh) return split_words(rewritten(join_words(words), signs));
    if (v13a)
        return split_words(rewritten(rewritten(" " + join_words(words) + " ", entities), signs));
    return words;
}
// [corpus]
std::vector<Counts> count_sentences(const Metric& metric, std::span<const std::string> hypotheses,
                                    std::span<const std::string> references) {
    require(hypotheses.size() == references.size(), "{}: {} hypotheses for {} references",
            metric.name, hypotheses.size(), references.size());
    require(!references.empty(), "{}: there is no sentence to score", metric.name);
    std::vector<Counts> counts;
    std::ranges::transform(hypotheses, references, std::back_inserter(counts), metric.count);
    return counts;
}

Counts sum_of(std::span<const Counts> counts) {
    Counts sums(counts.front().size());
    for (const Counts& sentence : counts)
        std::ranges::transform(sums, sentence, sums.begin(), std::plus());
    return sums;
}
// [signature]
std::string signature_of(const Metric& metric, const std::string& drawing) {
    return fmt::format("nrefs:1|{}{}{}|version:attention-by-hand.1", drawing,
                       drawing.empty() ? "" : "|", metric.settings);
}

std::string score_line(const Metric& metric, const Counts& sums, const std::string& drawing,
                       const std::string& interval) {
    return fmt::format("{}|{} = {:.2f}{}{}", metric.name, signature_of(metric, drawing),
                       metric.value(sums), interval, metric.parts ? " " + metric.parts(sums) : "");
}
// [bootstrap]
std::vector<double> bootstrap(const Metric& metric, std::span<const Counts> sentences,
                              std::uint64_t seed, Index samples) {
    require(!sentences.empty() && samples > 0,
            "bootstrap: {} samples of {} sentences, expected at least 1 of both", samples,
            sentences.size());
    const auto n = static_cast<std::int32_t>(sentences.size());
    Random random(seed);
    std::vector<double> scores;
    for (Index s = 0; s < samples; ++s) {
        Counts sums(sentences.front().size());
        const Ids drawn = random_ids({n}, 0, n, random.stream());
        for (const std::int32_t i : drawn.values())
            std::ranges::transform(sums, sentences[static_cast<std::size_t>(i)], sums.begin(),
                                   std::plus());
        scores.push_back(metric.value(sums));
    }
    return scores;
}

Interval interval_of(std::vector<double> scores) {
    std::ranges::sort(scores);
    const std::size_t cut = scores.size() / 40;  // 2.5 % at each end
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    return {sum / static_cast<double>(scores.size()),
            (scores[scores.size() - 1 - cut] - scores[cut]) / 2};
}
// [paired]
double p_value(const Metric& metric, std::span<const Counts> sentences,
               std::span<const Counts> others, std::uint64_t seed, Index samples) {
    require(sentences.size() == others.size(), "p_value: {} sentences against {}", sentences.size(),
            others.size());
    const std::vector<double> a = bootstrap(metric, sentences, seed, samples);
    const std::vector<double> b = bootstrap(metric, others, seed, samples);  // of the same samples
    if (a == b) return 1;
    const double seen = std::abs(metric.value(sum_of(sentences)) - metric.value(sum_of(others)));
    std::vector<double> differences;
    for (std::size_t s = 0; s < a.size(); ++s) differences.push_back(std::abs(a[s] - b[s]));
    const double mean = interval_of(differences).mean;
    const auto by_chance =
        std::ranges::count_if(differences, [&](double d) { return d - mean > seen; });
    return static_cast<double>(by_chance + 1) / static_cast<double>(a.size() + 1);
}

}  // namespace abh
