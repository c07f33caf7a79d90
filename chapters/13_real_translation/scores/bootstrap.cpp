#include "chapters/13_real_translation/scores/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/random.hpp"

namespace abh {
// [bootstrap]
std::vector<double> bootstrap(const Metric& metric, std::span<const Counts> sentences,
                              const BootstrapOptions& options) {
    require(!sentences.empty() && options.samples > 0, "bootstrap: {} samples of {} sentences",
            options.samples, sentences.size());
    const auto n = static_cast<std::int32_t>(sentences.size());
    Random random(options.seed);
    std::vector<double> scores;
    for (Index s = 0; s < options.samples; ++s) {
        Counts sums(sentences.front().size(), 0.0);
        const Ids drawn = random_ids({n}, 0, n, random.stream());
        for (const std::int32_t i : drawn.values())
            for (std::size_t k = 0; k < sums.size(); ++k)
                sums[k] += sentences[static_cast<std::size_t>(i)][k];
        scores.push_back(metric.value(sums));
    }
    return scores;
}

Interval interval_of(std::vector<double> scores) {
    std::sort(scores.begin(), scores.end());
    const std::size_t cut = scores.size() / 40;  // 2.5 % at both ends
    const double mean =
        std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
    return {mean, (scores[scores.size() - 1 - cut] - scores[cut]) / 2};
}
// [paired]
PairedTest compare(const Metric& metric, std::span<const Counts> sentences,
                   std::span<const Counts> others, const BootstrapOptions& options) {
    require(sentences.size() == others.size(), "compare: {} sentences with {}", sentences.size(),
            others.size());
    const std::vector<double> a = bootstrap(metric, sentences, options);
    const std::vector<double> b = bootstrap(metric, others, options);  // the same seed: in pairs
    const double value = metric.value(sum_of(sentences)), other = metric.value(sum_of(others));
    std::vector<double> differences;
    for (std::size_t s = 0; s < a.size(); ++s) differences.push_back(std::abs(a[s] - b[s]));
    const double mean = interval_of(differences).mean;
    const auto by_chance = std::count_if(differences.begin(), differences.end(), [&](double d) {
        return d - mean > std::abs(value - other);
    });
    const double p =
        a == b ? 1.0 : static_cast<double>(by_chance + 1) / static_cast<double>(a.size() + 1);
    return {value, other, interval_of(a), interval_of(b), p};
}

}  // namespace abh
