#include "chapters/13_real_translation/scores/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "lib/random.hpp"

namespace abh {
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
