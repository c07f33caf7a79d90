// Once: measuring: quantiles, turns, what disturbs a measurement, tables of gains.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/fast/parallel.hpp"
#include "lib/io/files.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"
#include "tests/printed.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// Time that passes only when work says so, however busy the machine is.
struct Time {
    double ms = 0;

    Clock clock() const {
        return [this] { return ms; };
    }
    /// Work that takes so long.
    Side takes(double work_ms) {
        return {[this, work_ms] { ms += work_ms; }};
    }
};

/// Writes a file as Linux counts processor time, in hundredths of a second; two processors.
std::filesystem::path stat_file(const Folder& folder, const std::string& first_line) {
    return folder.put("stat", first_line + "\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5 cpu9\n");
}

}  // namespace

TEST_CASE("the median of a round is not moved by one slow call") {
    CHECK(quantile({1, 2, 3, 4, 1000}, 0.5) == 3);
    CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
    CHECK(quantile({5, 1, 2, 3, 4}, 0.25) == 2);
    CHECK(quantile({7}, 0.75) == 7);
    REQUIRE_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
    REQUIRE_THROWS_AS(quantile({1}, 1.5), std::invalid_argument);
}

TEST_CASE("two ways take turns") {
    std::string calls;
    const Side a{[&] { calls += 'a'; }, [&] { calls += '.'; }};
    const Side b{[&] { calls += 'b'; }, [&] { calls += ','; }};
    take_turns(a, b, 5, 5, 0);
    // to see how long they take, then five rounds
    REQUIRE(calls == ".a,b.a,b.a,b.a,b.a,b.a,b");
    REQUIRE_THROWS_AS(take_turns(a, b, 4), std::invalid_argument);
}

TEST_CASE("a turn begins with a call that is not timed") {
    Time time;
    int calls = 0;
    const Side wakes{[&] { time.ms += calls++ % 2 == 0 ? 40 : 10; }};  // slow in each first call
    const Comparison c = take_turns(time.takes(10), wakes, 5, 1, 0, time.clock());
    CHECK(calls == 12);
    CHECK(c.fast_ms == 10);
}

TEST_CASE("the ratio says how much longer the plain way takes, however often each is called") {
    Time time;
    const Comparison c = take_turns(time.takes(30), time.takes(1), 5, 8, 0, time.clock());
    CHECK(c.plain_ms == 30);
    CHECK(c.fast_ms == 1);
    CHECK(c.ratio == 30);
    CHECK(time.ms == 60 + (2 + 3 + 5 + 9) + 5 * (60 + 9));  // 1, 2, 4, 8 calls, then five rounds
}

TEST_CASE("a comparison is the median of the rounds' ratios, not the ratio of the medians") {
    const Comparison c = compared({10, 20, 30, 40, 50}, {10, 5, 10, 10, 50}, 0.05);
    // ratios 1, 4, 3, 4, 1
    CHECK(c.plain_ms == 30);
    CHECK(c.fast_ms == 10);
    CHECK(c.ratio == 3);
    CHECK(c.low == 1);
    CHECK(c.high == 4);
    CHECK(c.noise.spread == 1);
    CHECK(c.noise.others == 0.05);
    REQUIRE_THROWS_AS(compared({1, 2, 3, 4, 5}, {1, 2, 3, 4}, {}), std::invalid_argument);
    REQUIRE_THROWS_AS(compared({1, 2, 3, 4}, {1, 2, 3, 4}, {}), std::invalid_argument);
}

TEST_CASE("a slow machine does not disturb a comparison, an uneven one does") {
    // both ways three times as slow in two of five rounds: the ratios are those of the other rounds
    CHECK_FALSE(compared({20, 60, 20, 60, 20}, {10, 30, 10, 30, 10}, 0.0).noise.disturbed());
    CHECK(compared({20, 60, 20, 60, 20}, {10, 10, 10, 10, 10}, 0.0).noise.disturbed());
}

TEST_CASE("others' load above 10 % or a spread above 30 % disturbs a measurement") {
    CHECK_FALSE(Noise{0.10, 0.30}.disturbed());
    CHECK(Noise{0.11, 0.0}.disturbed());
    CHECK(Noise{0.0, 0.31}.disturbed());
    CHECK_FALSE(Noise{std::nullopt, 0.30}.disturbed());  // an unknown load does not count
    CHECK(Noise{std::nullopt, 0.31}.disturbed());
}

TEST_CASE("a measurement of one way has its median, quartiles and spread") {
    const Measured m = measured({4, 1, 3, 2, 5}, 0.2);
    CHECK(m.ms == 3);
    CHECK(m.low == 2);
    CHECK(m.high == 4);
    CHECK(m.calls == 5);
    CHECK(m.noise.spread == Approx(2.0 / 3));  // 2 and 3 have no exact quotient
    CHECK(m.noise.disturbed());
}

TEST_CASE("calls go on until the time suffices to tell the load") {
    Time time;
    const Measured by_count = measure_once(time.takes(10).run, 12, 0.05, time.clock());
    CHECK(by_count.calls == 12);
    CHECK(time.ms == 120);
    const Measured by_time = measure_once(time.takes(10).run, 2, 0.05, time.clock());
    CHECK(by_time.calls == 5);
    CHECK(by_time.ms == 10);
}

TEST_CASE("the machine's clock counts milliseconds") {
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    CHECK(milliseconds(sleep) >=
          2);  // a busy machine makes a sleep longer, nothing makes it shorter
}

TEST_CASE("a disturbed measurement is repeated up to three times") {
    struct Result {
        int number;
        Noise noise;
    };
    const auto last_of = [](const std::vector<double>& loads) {
        int calls = 0;
        const Result result = undisturbed([&] {
            const double load = loads.at(static_cast<std::size_t>(calls));
            return Result{++calls, {load, 0}};
        });
        CHECK(result.number == calls);
        return std::pair(calls, result.noise.disturbed());
    };
    // each load another one: of equal ones and a 0, GCC 12 makes four equal ones at -O3
    CHECK(last_of({0.0}) == std::pair(1, false));
    CHECK(last_of({0.5, 0.6, 0.0}) == std::pair(3, false));
    CHECK(last_of({0.5, 0.6, 0.7, 0.0}) == std::pair(4, false));
    CHECK(last_of({0.5, 0.6, 0.7, 0.8}) == std::pair(4, true));
}

TEST_CASE("the load of others is what neither idled nor was ours") {
    // in two seconds on two processors: 4 s in all, 2.5 s busy, 2 s of them ours
    const ProcessorTime before{.busy = 10, .own = 3, .all = 100, .processors = 2};
    const ProcessorTime after{.busy = 12.5, .own = 5, .all = 104, .processors = 2};
    CHECK(*share_of_others(before, after) == Approx(0.5 / 4));
    // ticks are coarse: what is left may be negative
    CHECK(*share_of_others(before, ProcessorTime{12.5, 6, 104, 2}) == 0);
    CHECK_FALSE(share_of_others(std::nullopt, after).has_value());
    CHECK_FALSE(share_of_others(before, std::nullopt).has_value());
    // 0.35 s and 0.45 s on two processors
    CHECK_FALSE(share_of_others(before, ProcessorTime{10, 3, 100.7, 2}).has_value());
    CHECK(share_of_others(before, ProcessorTime{10, 3, 100.9, 2}).has_value());
}

TEST_CASE("processor time is read as Linux writes it") {
    const Folder folder;
    const auto time = processor_time(stat_file(folder, "cpu  100 10 20 400 50 3 7 10 99 98"));
    REQUIRE(time.has_value());
    const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    CHECK(time->busy == Approx(150 * tick));  // user, nice, system, interrupts, and stolen
    CHECK(time->all == Approx(600 * tick));   // guests are counted as users already
    CHECK(time->processors == 2);
    CHECK(time->own > 0);
    CHECK_FALSE(processor_time(stat_file(folder, "cpu  0 0 0 0 0 0 0 0")).has_value());
    CHECK_FALSE(processor_time(stat_file(folder, "cpu  1 2 3")).has_value());
    CHECK_FALSE(processor_time(stat_file(folder, "something else")).has_value());
    CHECK_FALSE(processor_time(folder / "missing").has_value());
}

TEST_CASE("a time more than 5 % below its floor is refused") {
    CHECK(beats_floor(0.94, 1));
    CHECK_FALSE(beats_floor(0.96, 1));
    CHECK_FALSE(beats_floor(2, 1));
}

TEST_CASE("a table of gains runs work under both ways, in turn, and records what it shows") {
    const Folder folder;
    Results results(folder / "out");
    const Printed printed;
    const Way before = way();
    Time time;
    std::vector<Way> ways;
    GainTable table(results, "512 columns", "plain", "fast", printed.file(), 3, time.clock());
    const Comparison c = table.ways("softmax", "soft", [&] {
        ways.push_back(way());
        time.ms += way() == Way::plain ? 24 : 6;
    });
    CHECK(way() == before);
    REQUIRE(ways.size() >= 4 + 4 * 9);  // nine rounds take half a second
    CHECK(ways[0] == Way::plain);
    CHECK(ways[1] == Way::plain);
    CHECK(ways[2] == Way::fast);
    CHECK(std::count(ways.begin(), ways.end(), Way::cuda) == 0);
    CHECK(c.plain_ms == 24);
    CHECK(c.fast_ms == 6);
    CHECK(c.ratio == 4);
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.size() == 5);
    CHECK(json.at("soft_plain").at("value") == c.plain_ms);
    CHECK(json.at("soft_plain").at("unit") == "ms");
    CHECK(json.at("soft_fast").at("value") == c.fast_ms);
    CHECK(json.at("soft_gain").at("value") == c.ratio);
    CHECK(json.at("soft_low").at("value") == c.low);
    CHECK(json.at("soft_high").at("value") == c.high);
    CHECK(json.at("soft_gain").contains("disturbed") == c.noise.disturbed());
    CHECK_THAT(printed.text(), Contains("512 columns") && Contains("plain: ms"));
    CHECK_THAT(printed.text(), Contains(fmt::format("{} thread", threads())));
    CHECK_THAT(printed.text(), Contains(fmt::format("{:.3f}", c.plain_ms)));
}

TEST_CASE("an uneven comparison of two sides is shown and recorded as disturbed") {
    const Folder folder;
    Results results(folder / "out");
    const Printed printed;
    Time time;
    GainTable table(results, "traps", "in it", "around", printed.file(), 3, time.clock());
    int calls = 0, prepared = 0;
    // `prepare` keeps a round to one call: every second one takes ten times as long
    const Side uneven{[&] { time.ms += ++calls % 2 ? 20 : 2; }, [&] { ++prepared; }};
    table.sides("uneven", "u", uneven, time.takes(2), 5);
    CHECK(prepared == calls);
    CHECK_THAT(printed.text(), Contains("in it: ms") && Contains("disturbed\n"));
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.at("u_gain").at("disturbed") == true);
}
