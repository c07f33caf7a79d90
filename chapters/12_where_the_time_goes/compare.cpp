#include "chapters/12_where_the_time_goes/compare.hpp"

#include <algorithm>
#include <cmath>

#include "lib/stopwatch.hpp"

namespace abh {
// [compare]
namespace {

/// Of one call, the mean of so many.
double time_of(const Way& way, int calls) {
    if (way.prepare) way.prepare();
    return milliseconds([&] {
               for (int i = 0; i < calls; ++i) way.run();
           }) /
           calls;
}

/// How many calls fill a round.
int calls_of(const Way& way, double round_ms) {
    const double once = time_of(way, 1);
    return way.prepare ? 1 : static_cast<int>(std::clamp(round_ms / once, 1.0, 1e5));
}

}  // namespace

Comparison compare(const Way& plain, const Way& other, int rounds, double round_ms) {
    require(rounds >= 5, "compare: {} rounds, expected at least 5", rounds);
    time_of(plain, 1);
    time_of(other, 1);
    const int plain_calls = calls_of(plain, round_ms), other_calls = calls_of(other, round_ms);
    std::vector<double> plain_ms, other_ms, ratios;
    for (int round = 0; round < rounds; ++round) {
        plain_ms.push_back(time_of(plain, plain_calls));
        other_ms.push_back(time_of(other, other_calls));
        ratios.push_back(plain_ms.back() / other_ms.back());
    }
    return {quantile(plain_ms, 0.5), quantile(other_ms, 0.5), quantile(ratios, 0.5),
            quantile(ratios, 0.25), quantile(ratios, 0.75)};
}

double quantile(std::vector<double> numbers, double part) {
    require(!numbers.empty() && part >= 0 && part <= 1, "quantile: share {} of {} numbers", part,
            numbers.size());
    std::sort(numbers.begin(), numbers.end());
    const double at = part * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, numbers.size() - 1);
    return std::lerp(numbers[below], numbers[above], at - static_cast<double>(below));
}

}  // namespace abh
