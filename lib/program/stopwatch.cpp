#include "lib/program/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>

#include "lib/threads.hpp"

namespace abh {
// [stopwatch]
double steady_ms() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(time).count();
}

double milliseconds(const Work& work, const Clock& clock) {
    const double start = clock();
    work();
    return clock() - start;
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
// [measure]
namespace {

/// Calls `round` at least so many times, and until `seconds` have passed.
void repeat(int times, double seconds, const Clock& clock, const Work& round) {
    const double start = clock();
    for (int i = 0; i < times || clock() - start < 1000 * seconds; ++i) round();
}

}  // namespace

Measured measured(const std::vector<double>& ms, const std::optional<double>& others) {
    const double median = quantile(ms, 0.5), low = quantile(ms, 0.25), high = quantile(ms, 0.75);
    return {median, low, high, static_cast<int>(ms.size()), {others, (high - low) / median}};
}

Measured measure_once(const Work& work, int calls, double seconds, const Clock& clock) {
    const OthersLoad others;
    std::vector<double> ms;
    repeat(std::max(calls, 1), seconds, clock, [&] { ms.push_back(milliseconds(work, clock)); });
    return measured(ms, others.share());
}

Measured measure(const Work& work, int calls, double seconds) {
    return undisturbed([&] { return measure_once(work, calls, seconds); });
}

bool beats_floor(double ms, double floor_ms) {
    return ms < 0.95 * floor_ms;
}
// [take turns]
Side under(Way way, const Work& work) {
    return {[work, way] {
        const ScopedWay scoped(way);
        work();
    }};
}

namespace {

/// Of one call, the mean of so many. What comes before is not timed: work that is not prepared runs
/// once, which fills caches and calls back threads that waited while the other way computed.
double time_of(const Side& way, int calls, const Clock& clock) {
    way.prepare ? way.prepare() : way.run();
    const auto round = [&] {
        for (int i = 0; i < calls; ++i) way.run();
    };
    return milliseconds(round, clock) / calls;
}

/// How many calls fill a round.
int calls_of(const Side& way, double round_ms, const Clock& clock) {
    int calls = 1;
    double ms = time_of(way, calls, clock);
    while (!way.prepare && ms * calls < round_ms && calls < 100'000)
        ms = time_of(way, calls *= 2, clock);
    return calls;
}

}  // namespace

Comparison compared(const std::vector<double>& plain_ms, const std::vector<double>& fast_ms,
                    const std::optional<double>& others) {
    require(plain_ms.size() == fast_ms.size() && plain_ms.size() >= 5,
            "take_turns: {} and {} rounds, expected the same number, at least 5", plain_ms.size(),
            fast_ms.size());
    std::vector<double> ratios;
    std::ranges::transform(plain_ms, fast_ms, std::back_inserter(ratios), std::divides());
    const Measured ratio = measured(ratios, others);
    return {quantile(plain_ms, 0.5),
            quantile(fast_ms, 0.5),
            ratio.ms,
            ratio.low,
            ratio.high,
            ratio.noise};
}

Comparison take_turns(const Side& plain, const Side& fast, int rounds, double round_ms,
                      double seconds, const Clock& clock) {
    require(rounds >= 5, "take_turns: {} rounds, expected at least 5", rounds);
    const int plain_calls = calls_of(plain, round_ms, clock);
    const int fast_calls = calls_of(fast, round_ms, clock);
    const OthersLoad others;
    std::vector<double> plain_ms, fast_ms;
    repeat(rounds, seconds, clock, [&] {
        plain_ms.push_back(time_of(plain, plain_calls, clock));
        fast_ms.push_back(time_of(fast, fast_calls, clock));
    });
    return compared(plain_ms, fast_ms, others.share());
}
// [gain table]
namespace {

/// Prints the number of threads, and below it the headings of a table of gains.
Table begin_gains(Results& results, const std::string& title, const std::string& first,
                  const std::string& second, std::FILE* out, int digits) {
    fmt::print(out, "{} thread{}\n", threads(), threads() == 1 ? "" : "s");
    return {results,
            {{title, "<38"},
             varying(first + ": ms", fmt::format("9.{}f", digits), "{}_plain", "ms"),
             varying(second + ": ms", fmt::format("8.{}f", digits), "{}_fast", "ms"),
             varying("ratio", "6.2f", "{}_gain"),
             varying("quartiles:", "5.2f", "{}_low"),
             varying("", "5.2f", "{}_high")},
            out};
}

}  // namespace

GainTable::GainTable(Results& results, const std::string& title, const std::string& first,
                     const std::string& second, std::FILE* out, int digits, Clock clock)
    : table_(begin_gains(results, title, first, second, out, digits)), clock_(std::move(clock)) {}

Comparison GainTable::ways(const std::string& what, const std::string& key, const Work& work,
                           int rounds) {
    return sides(what, key, under(Way::plain, work), under(Way::fast, work), rounds);
}

Comparison GainTable::sides(const std::string& what, const std::string& key, const Side& first,
                            const Side& second, int rounds) {
    const Comparison c =
        undisturbed([&] { return take_turns(first, second, rounds, 5, 0.5, clock_); });
    table_.measured_row(c.noise.disturbed(), key, what, c.plain_ms, c.fast_ms, c.ratio, c.low,
                        c.high);
    return c;
}

}  // namespace abh
