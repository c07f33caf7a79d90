#include "lib/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

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

TwoTimes take_turns(int rounds, const Work& plain, const Work& fast) {
    std::vector<double> plain_times, fast_times;
    plain();
    fast();
    for (int i = 0; i < rounds; ++i) {
        plain_times.push_back(milliseconds(plain));
        fast_times.push_back(milliseconds(fast));
    }
    const auto median = [](std::vector<double> times) {
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    };
    return {median(plain_times), median(fast_times)};
}

void gain_header(const std::string& title) {
    fmt::print("{:<40}{:>11}{:>10}{:>8}\n", title, "plain: ms", "fast: ms", "ratio");
}

void show_gain(const std::string& what, const std::string& key, int rounds, const Work& plain,
               const Work& fast, Results& results) {
    const TwoTimes times = take_turns(rounds, plain, fast);
    fmt::print("{:<40}{:>11.3f}{:>10.3f}{:>8.2f}\n", what, times.plain, times.fast, times.gain());
    results.set_varying(key + "_plain", times.plain, "ms");
    results.set_varying(key + "_fast", times.fast, "ms");
    results.set_varying(key + "_gain", times.gain());
}

}  // namespace abh
