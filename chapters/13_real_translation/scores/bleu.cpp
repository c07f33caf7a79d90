#include "chapters/13_real_translation/scores/bleu.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
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
// [n-grams]
/// How many runs of `n` neighboring words a sentence has.
double ngrams_in(const Words& sentence, Index n) {
    return static_cast<double>(std::max<Index>(0, std::ssize(sentence) - n + 1));
}

/// How often each of these runs occurs.
std::map<Words, Index> count_ngrams(const Words& sentence, Index n) {
    std::map<Words, Index> counts;
    for (auto begin = sentence.begin(); sentence.end() - begin >= n; ++begin)
        ++counts[Words(begin, begin + n)];
    return counts;
}

/// How many runs both have in common, each counted as often as in the sentence with fewer of it.
double common_ngrams(const Words& a, const Words& b, Index n) {
    Index common = 0;
    const auto others = count_ngrams(b, n);
    for (const auto& [ngram, count] : count_ngrams(a, n))
        if (const auto other = others.find(ngram); other != others.end())
            common += std::min(count, other->second);
    return static_cast<double>(common);
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
// [count]
namespace {

constexpr Index orders = 4;
constexpr std::size_t matches_at = 2, total_at = 2 + orders;

Counts count_bleu(const std::string& hypothesis, const std::string& reference,
                  const BleuOptions& options) {
    const auto words = [&](const std::string& line) {
        return score_words(options.lowercase ? lower_case(line) : line, options.tokenization);
    };
    const Words said = words(hypothesis), wanted = words(reference);
    Counts counts{ngrams_in(said, 1), ngrams_in(wanted, 1)};
    for (Index n = 1; n <= orders; ++n) counts.push_back(common_ngrams(said, wanted, n));
    for (Index n = 1; n <= orders; ++n) counts.push_back(ngrams_in(said, n));
    return counts;
}

}  // namespace
// [corpus]
std::vector<Counts> count_sentences(std::span<const std::string> hypotheses,
                                    std::span<const std::string> references,
                                    const BleuOptions& options) {
    require(hypotheses.size() == references.size(), "BLEU: {} hypotheses for {} references",
            hypotheses.size(), references.size());
    require(!references.empty(), "BLEU: there is no sentence to score");
    std::vector<Counts> counts;
    for (std::size_t i = 0; i < references.size(); ++i)
        counts.push_back(count_bleu(hypotheses[i], references[i], options));
    return counts;
}

Counts sum_of(std::span<const Counts> counts) {
    Counts sums(counts.front().size());
    for (const Counts& sentence : counts)
        std::ranges::transform(sums, sentence, sums.begin(), std::plus());
    return sums;
}

double bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
            const BleuOptions& options) {
    return bleu_parts(sum_of(count_sentences(hypotheses, references, options)), options).value;
}
// [value]
BleuParts bleu_parts(const Counts& sums, const BleuOptions& options) {
    const double said = sums[0], wanted = sums[1];
    BleuParts parts;
    if (said < wanted) parts.brevity_penalty = said > 0 ? std::exp(1 - wanted / said) : 0;
    if (sums[matches_at] == 0) return parts;  // no word in common: nothing to smooth
    double share = 1, log_sum = 0;
    std::size_t defined = 0;
    for (; defined < orders && sums[total_at + defined] > 0; ++defined) {
        double matches = sums[matches_at + defined];
        if (matches == 0 && options.smooth) matches = share /= 2;
        parts.precisions[defined] = 100 * matches / sums[total_at + defined];
        log_sum += std::log(parts.precisions[defined]);
    }
    if (defined == orders)
        parts.value = parts.brevity_penalty * std::exp(log_sum / static_cast<double>(orders));
    return parts;
}
// [signature]
std::string signature_of(const BleuOptions& options, const std::string& drawing) {
    return fmt::format("nrefs:1|{}{}case:{}|eff:no|tok:{}|smooth:{}|version:attention-by-hand.1",
                       drawing, drawing.empty() ? "" : "|", options.lowercase ? "lc" : "mixed",
                       options.tokenization, options.smooth ? "exp" : "none");
}

std::string score_line(const Counts& sums, const BleuOptions& options, const std::string& drawing,
                       const std::string& interval) {
    const BleuParts parts = bleu_parts(sums, options);
    return fmt::format(
        "BLEU|{} = {:.2f}{} {:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {:.0f} ref_len = {:.0f})",
        signature_of(options, drawing), parts.value, interval, fmt::join(parts.precisions, "/"),
        parts.brevity_penalty, sums[1] > 0 ? sums[0] / sums[1] : 0.0, sums[0], sums[1]);
}
// [bootstrap]
std::vector<double> bootstrap(std::span<const Counts> sentences, const BleuOptions& options,
                              std::uint64_t seed, Index samples) {
    const auto n = static_cast<std::int32_t>(sentences.size());
    Random random(seed);
    std::vector<double> scores;
    for (Index s = 0; s < samples; ++s) {
        Counts sums(sentences.front().size());
        const Ids drawn = random_ids({n}, 0, n, random.stream());
        for (const std::int32_t i : drawn.values())
            std::ranges::transform(sums, sentences[static_cast<std::size_t>(i)], sums.begin(),
                                   std::plus());
        scores.push_back(bleu_parts(sums, options).value);
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
double p_value(std::span<const Counts> sentences, std::span<const Counts> others,
               const BleuOptions& options, std::uint64_t seed, Index samples) {
    const std::vector<double> a = bootstrap(sentences, options, seed, samples);
    const std::vector<double> b = bootstrap(others, options, seed, samples);  // of the same samples
    if (a == b) return 1;
    const double seen = std::abs(bleu_parts(sum_of(sentences), options).value -
                                 bleu_parts(sum_of(others), options).value);
    std::vector<double> differences;
    for (std::size_t s = 0; s < a.size(); ++s) differences.push_back(std::abs(a[s] - b[s]));
    const double mean = interval_of(differences).mean;
    const auto by_chance =
        std::ranges::count_if(differences, [&](double d) { return d - mean > seen; });
    return static_cast<double>(by_chance + 1) / static_cast<double>(a.size() + 1);
}

}  // namespace abh
