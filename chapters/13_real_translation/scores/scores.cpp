#include "chapters/13_real_translation/scores/scores.hpp"

namespace abh {
// [corpus]
std::vector<Counts> count_sentences(const Metric& metric, std::span<const std::string> hypotheses,
                                    std::span<const std::string> references) {
    require(hypotheses.size() == references.size(), "{}: {} hypotheses for {} references",
            metric.name, hypotheses.size(), references.size());
    require(!references.empty(), "{}: there is no sentence to score", metric.name);
    std::vector<Counts> counts;
    for (std::size_t i = 0; i < references.size(); ++i)
        counts.push_back(metric.count(hypotheses[i], references[i]));
    return counts;
}

Counts sum_of(std::span<const Counts> counts) {
    Counts sums(counts.front().size(), 0.0);
    for (const Counts& sentence : counts)
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += sentence[k];
    return sums;
}

Score corpus_score(const Metric& metric, std::span<const std::string> hypotheses,
                   std::span<const std::string> references) {
    const Counts sums = sum_of(count_sentences(metric, hypotheses, references));
    const double value = metric.value(sums);
    const std::string signature = signature_of(metric);
    std::string text = fmt::format("{}|{} = {:.2f}", metric.name, signature, value);
    if (metric.parts) text += fmt::format(" {}", metric.parts(sums));
    return {value, signature, text};
}
// [signature]
std::string signature_of(const Metric& metric, const std::string& drawing) {
    return fmt::format("nrefs:1|{}{}{}|version:attention-by-hand.1", drawing,
                       drawing.empty() ? "" : "|", metric.settings);
}

}  // namespace abh
