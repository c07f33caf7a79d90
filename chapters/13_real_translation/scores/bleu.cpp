#include "chapters/13_real_translation/scores/bleu.hpp"

#include <fmt/ranges.h>

#include <cmath>

#include "chapters/13_real_translation/data/text.hpp"

namespace abh {
// [count]
namespace {

// The counts, in order: the words of the hypothesis, the words of the reference, the n-grams of
// each order that match, and the n-grams of each order in the hypothesis.
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
// [metric]
Metric bleu_metric(const BleuOptions& options) {
    const auto count = [options](const std::string& hypothesis, const std::string& reference) {
        return count_bleu(hypothesis, reference, options);
    };
    const auto value = [options](const Counts& sums) { return bleu_parts(sums, options).value; };
    const auto parts = [options](const Counts& sums) {
        const BleuParts of = bleu_parts(sums, options);
        return fmt::format("{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {:.0f} ref_len = {:.0f})",
                           fmt::join(of.precisions, "/"), of.brevity_penalty,
                           sums[1] > 0 ? sums[0] / sums[1] : 0.0, sums[0], sums[1]);
    };
    return {"BLEU",
            fmt::format("case:{}|eff:no|tok:{}|smooth:{}", options.lowercase ? "lc" : "mixed",
                        options.tokenization, options.smooth ? "exp" : "none"),
            count, value, parts};
}

double bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
            const BleuOptions& options) {
    const Metric metric = bleu_metric(options);
    return metric.value(sum_of(count_sentences(metric, hypotheses, references)));
}

}  // namespace abh
