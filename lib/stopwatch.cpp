#include "lib/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace abh {
// [stopwatch]
double milliseconds(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return time.count();
}

double best_of(int times, const Work& work) {
    double best = milliseconds(work);
    for (int i = 1; i < times; ++i) best = std::min(best, milliseconds(work));
    return best;
}

// [take turns]
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

Comparison take_turns(const Way& plain, const Way& fast, int rounds, double round_ms) {
    require(rounds >= 5, "take_turns: {} rounds, expected at least 5", rounds);
    time_of(plain, 1);
    time_of(fast, 1);
    const int plain_calls = calls_of(plain, round_ms), fast_calls = calls_of(fast, round_ms);
    std::vector<double> plain_ms, fast_ms, ratios;
    for (int round = 0; round < rounds; ++round) {
        plain_ms.push_back(time_of(plain, plain_calls));
        fast_ms.push_back(time_of(fast, fast_calls));
        ratios.push_back(plain_ms.back() / fast_ms.back());
    }
    return {quantile(plain_ms, 0.5), quantile(fast_ms, 0.5), quantile(ratios, 0.5),
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
// [show gain]
void gain_header(const std::string& title) {
    fmt::print("{:<40}{:>11}{:>10}{:>8}{:>14}\n", title, "plain: ms", "fast: ms", "ratio",
               "quartiles");
}

void show_gain(const std::string& what, const std::string& key, int rounds, const Work& plain,
               const Work& fast, Results& results) {
    const Comparison c = take_turns({plain}, {fast}, rounds, 0);
    fmt::print("{:<40}{:>11.3f}{:>10.3f}{:>8.2f}{:>8.2f}{:>6.2f}\n", what, c.plain_ms, c.fast_ms,
               c.ratio, c.low, c.high);
    results.set_varying(key + "_plain", c.plain_ms, "ms");
    results.set_varying(key + "_fast", c.fast_ms, "ms");
    results.set_varying(key + "_gain", c.ratio);
}

}  // namespace abh
