#include "lib/program/stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "lib/device.hpp"
#include "lib/io/files.hpp"
#include "lib/way.hpp"

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
    require(!numbers.empty() && part >= 0 && part <= 1,
            "quantile: share {} of {} numbers, expected 0 to 1 of at least 1", part,
            numbers.size());
    std::sort(numbers.begin(), numbers.end());
    const double at = part * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, numbers.size() - 1);
    return std::lerp(numbers[below], numbers[above], at - static_cast<double>(below));
}
// [record]
namespace {

struct Block {
    const char* name;
    double begin, end, inner;  ///< in milliseconds; `inner`: what the blocks inside it took
};

struct Profile {
    double start = steady_ms();
    std::vector<Block> open, closed;  // of those closed, the first `longest_trace`
    std::map<std::string_view, ProfileRow> sums;
};

constexpr std::size_t longest_trace = 1 << 18;
thread_local std::optional<Profile> profile;  // of the thread that is measured

/// Makes a block's time include the kernels that it starts. An error will come up again later.
void wait_for_device() noexcept {
    try {
        synchronize();
    } catch (const std::exception&) {
    }
}

void begin_block(const char* name) {
    if (!profile) return;  // on another thread
    wait_for_device();
    profile->open.push_back({name, steady_ms(), 0, 0});
}

void end_block() {
    if (!profile || profile->open.empty()) return;
    wait_for_device();
    Block block = profile->open.back();
    profile->open.pop_back();
    block.end = steady_ms();
    const double time = block.end - block.begin;
    ProfileRow& sum = profile->sums[block.name];
    ++sum.calls;
    sum.ms += time - block.inner;
    if (!profile->open.empty()) profile->open.back().inner += time;
    if (profile->closed.size() < longest_trace) profile->closed.push_back(block);
}

constexpr Observer observer{begin_block, end_block};

}  // namespace

void start_profile() {
    profile.emplace();
    detail::observer = &observer;
}
// [rows]
std::vector<ProfileRow> profile_rows() {
    std::vector<ProfileRow> rows;
    double rest = steady_ms() - profile.value().start;
    for (const auto& [name, sum] : profile->sums) {
        rows.push_back({std::string(name), sum.calls, sum.ms});
        rest -= sum.ms;
    }
    rows.push_back({"(anything else)", 0, rest});
    std::ranges::sort(rows, std::greater(), &ProfileRow::ms);
    return rows;
}
// [table]
void print_profile() {
    const std::vector<ProfileRow> rows = profile_rows();
    double all = 0;
    for (const ProfileRow& row : rows) all += row.ms;
    Results unrecorded;
    Table table(unrecorded,
                {{"own time of", "<28"}, {"calls", "8"}, {"ms", "10.3f"}, {"%", "7.1f"}});
    for (const auto& [name, calls, ms] : rows) table.row(name, name, calls, ms, 100 * ms / all);
}
// [trace]
void save_trace(const std::filesystem::path& path) {
    AtomicFile file(path);
    file.write("{\"traceEvents\":[");
    const char* separator = "\n";
    for (const Block& block : profile.value().closed)
        file.write(
            fmt::format(R"({}{{"ph":"X","pid":1,"tid":1,"name":"{}","ts":{:.3f},"dur":{:.3f}}})",
                        std::exchange(separator, ",\n"), block.name,
                        1000 * (block.begin - profile->start), 1000 * (block.end - block.begin)));
    file.write("\n]}\n");
    file.commit();
}
// [load]
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file) {
    std::ifstream stat(file);
    std::string name;
    std::array<double, 8> ticks{};
    stat >> name;
    for (double& n : ticks) stat >> n;
    const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double all = tick * std::accumulate(ticks.begin(), ticks.end(), 0.0),
                 idle = tick * (ticks[3] + ticks[4]),  // or waiting for a disk
        own = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    if (!stat || name != "cpu" || all <= 0) return {};
    return ProcessorTime{all - idle - own, all, steady_ms() / 1000};
}

std::optional<double> share_of_others(const std::optional<ProcessorTime>& before,
                                      const std::optional<ProcessorTime>& after) {
    if (!before || !after || after->now - before->now < 0.4) return {};
    return std::clamp((after->others - before->others) / (after->all - before->all), 0.0, 1.0);
}
// [measure]
namespace {

/// Calls `round` at least `times` times, and goes on until half a second has passed.
void repeat(int times, const Clock& clock, const Work& round) {
    const double start = clock();
    for (int i = 0; i < times || clock() - start < 500; ++i) round();
}

/// Median, quartiles and noise of these numbers.
/// @param before  since when the load by other programs counts
Measured measured(const std::vector<double>& numbers, const std::optional<ProcessorTime>& before) {
    const double median = quantile(numbers, 0.5), low = quantile(numbers, 0.25),
                 high = quantile(numbers, 0.75);
    return {median, low, high, {share_of_others(before), (high - low) / median}};
}

}  // namespace

Measured measure(const Work& work, int calls, const Clock& clock) {
    return undisturbed([&] {
        const auto before = processor_time();
        std::vector<double> ms;
        repeat(calls, clock, [&] { ms.push_back(milliseconds(work, clock)); });
        return measured(ms, before);
    });
}
// [take turns]
Work under(Way way, const Work& work) {
    return [work, way] {
        const ScopedWay scoped(way);
        work();
    };
}

namespace {

/// Milliseconds per call, the mean of `calls`. One call before them is not timed: it fills caches
/// and wakes threads that waited while the other way computed.
double time_of(const Work& work, int calls, const Clock& clock) {
    work();
    const auto turn = [&] {
        for (int i = 0; i < calls; ++i) work();
    };
    return milliseconds(turn, clock) / calls;
}

/// How many calls fill a turn of 5 ms or more.
int calls_of(const Work& work, const Clock& clock) {
    int calls = 1;
    while (time_of(work, calls, clock) * calls < 5 && calls < 100'000) calls *= 2;
    return calls;
}

}  // namespace

Comparison take_turns(const Work& plain, const Work& fast, int rounds, const Clock& clock) {
    const int plain_calls = calls_of(plain, clock), fast_calls = calls_of(fast, clock);
    return undisturbed([&]() -> Comparison {
        const auto before = processor_time();
        std::vector<double> plain_ms, fast_ms, ratios;
        repeat(rounds, clock, [&] {
            plain_ms.push_back(time_of(plain, plain_calls, clock));
            fast_ms.push_back(time_of(fast, fast_calls, clock));
            ratios.push_back(plain_ms.back() / fast_ms.back());
        });
        const auto [ratio, low, high, noise] = measured(ratios, before);
        return {quantile(plain_ms, 0.5), quantile(fast_ms, 0.5), ratio, low, high, noise};
    });
}
// [gain table]
namespace {

/// Prints the number of threads, and below it the headings of a table of gains.
Table begin_gains(Results& results, const std::string& title, const std::string& first,
                  const std::string& second, int digits) {
    fmt::print("{} thread{}\n", threads(), threads() == 1 ? "" : "s");
    return {results,
            {{title, "<38"},
             varying(first + ": ms", fmt::format("9.{}f", digits), "{}_plain", "ms"),
             varying(second + ": ms", fmt::format("8.{}f", digits), "{}_fast", "ms"),
             varying("ratio", "6.2f", "{}_gain"),
             varying("quartiles:", "5.2f", "{}_low"),
             varying("", "5.2f", "{}_high")}};
}

}  // namespace

GainTable::GainTable(Results& results, const std::string& title, const std::string& first,
                     const std::string& second, int digits, Clock clock)
    : table_(begin_gains(results, title, first, second, digits)), clock_(std::move(clock)) {}

Comparison GainTable::ways(const std::string& what, const std::string& key, const Work& work,
                           int rounds) {
    return sides(what, key, under(Way::plain, work), under(Way::fast, work), rounds);
}

Comparison GainTable::sides(const std::string& what, const std::string& key, const Work& first,
                            const Work& second, int rounds) {
    const Comparison c = take_turns(first, second, rounds, clock_);
    table_.measured_row(c.noise.disturbed(), key, what, c.plain_ms, c.fast_ms, c.ratio, c.low,
                        c.high);
    return c;
}

}  // namespace abh
