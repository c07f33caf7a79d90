#include "chapters/13_real_translation/scores/bleu.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "chapters/13_real_translation/data/text.hpp"
#include "lib/random.hpp"

namespace abh {
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
