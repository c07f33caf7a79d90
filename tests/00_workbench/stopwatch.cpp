// Once: measuring: quantiles, the profile of `--profile`, turns, what disturbs, tables of gains.
#include "lib/program/stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "lib/fast/parallel.hpp"
#include "lib/io/files.hpp"
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
    /// Work whose calls take so long, in turn; each of them so many times one after the other.
    Work takes(std::vector<double> times, std::size_t repeats = 1) {
        return [this, times, repeats, call = std::size_t{0}]() mutable {
            ms += times[call++ / repeats % times.size()];
        };
    }
};

/// Two ways which take so long in each turn, more than 5 ms: with the one not timed, two calls.
Comparison compared(const std::vector<double>& plain, const std::vector<double>& fast) {
    Time time;
    return take_turns(time.takes(plain, 2), time.takes(fast, 2), 5, time.clock());
}

/// A busy machine makes it longer, nothing makes it shorter.
void rest(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
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

TEST_CASE("a profile has a line for each name, with calls and own time") {
    { const Timed before("not measured: the profile has not begun"); }
    start_profile();
    for (int i = 0; i < 3; ++i) {
        const Timed outer("outer");
        rest(1);
        const Timed inner("inner");
        rest(10);
    }
    const std::vector<ProfileRow> rows = profile_rows();
    REQUIRE(rows.size() == 3);
    REQUIRE(std::ranges::is_sorted(rows, std::greater(), &ProfileRow::ms));
    for (const auto& [name, calls, ms] : rows)
        REQUIRE(calls == (name == "outer" || name == "inner" ? 3 : 0));
    const std::string table = written_to(1, print_profile);
    REQUIRE_THAT(table, Contains("outer") && Contains("inner") && Contains("(anything else)"));

    const Folder folder;
    save_trace(folder / "trace.json");
    const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
    REQUIRE(trace.at("traceEvents").size() == 6);
    double outer = 0, inner = 0;
    for (const auto& block : trace["traceEvents"]) {
        REQUIRE(block.at("ph") == "X");
        (block.at("name") == "outer" ? outer : inner) += block.at("dur").get<double>();
    }
    REQUIRE(inner >= 30e3);  // microseconds
    REQUIRE(outer >= inner + 3e3);
    start_profile();  // begins anew
    REQUIRE(profile_rows().size() == 1);
}

TEST_CASE("only the thread that began a profile is measured") {
    start_profile();
    std::thread([] { const Timed other("of another thread"); }).join();
    REQUIRE(profile_rows().size() == 1);
}

TEST_CASE("two ways take turns, each after a call that is not timed") {
    Time time;
    std::string calls;
    const auto side = [&](char name) -> Work {
        return [&, name] {
            time.ms += !calls.empty() && calls.back() == name ? 10 : 40;
            calls += name;
        };
    };
    const Comparison c = take_turns(side('a'), side('b'), 7, time.clock());
    CHECK(c.plain_ms == 10);
    CHECK(c.fast_ms == 10);
    REQUIRE(calls.size() >= 4 + 4 * 7);  // first to see how long they take
    for (std::size_t i = 0; i < calls.size(); i += 4) CHECK(calls.substr(i, 4) == "aabb");
}

TEST_CASE("the ratio says how much longer the plain way takes, however often each is called") {
    Time time;
    const Comparison c = take_turns(time.takes({30}), time.takes({1}), 5, time.clock());
    CHECK(c.plain_ms == 30);
    CHECK(c.fast_ms == 1);
    CHECK(c.ratio == 30);
    // 1, 2, 4, 8 calls to see how long they take; then half a second has eight rounds
    CHECK(std::fmod(time.ms - 60 - (2 + 3 + 5 + 9), 8 * (60 + 9)) == 0);
}

TEST_CASE("a comparison is the median of the rounds' ratios, not the ratio of the medians") {
    const Comparison c = compared({100, 200, 300, 400, 500}, {100, 50, 100, 100, 500});
    // ratios 1, 4, 3, 4, 1
    CHECK(c.plain_ms == 300);
    CHECK(c.fast_ms == 100);
    CHECK(c.ratio == 3);
    CHECK(c.low == 1);
    CHECK(c.high == 4);
    CHECK(c.noise.spread == 1);
}

TEST_CASE("a slow machine does not disturb a comparison, an uneven one does") {
    // both ways three times as slow in two of five rounds: the ratios are those of the other rounds
    CHECK(compared({200, 600, 200, 600, 200}, {100, 300, 100, 300, 100}).noise.spread == 0);
    CHECK(compared({200, 600, 200, 600, 200}, {100}).noise.disturbed());
}

TEST_CASE("others' load above 10 % or a spread above 30 % disturbs a measurement") {
    CHECK_FALSE(Noise{0.10, 0.30}.disturbed());
    CHECK(Noise{0.11, 0.0}.disturbed());
    CHECK(Noise{0.0, 0.31}.disturbed());
    CHECK_FALSE(Noise{std::nullopt, 0.30}.disturbed());  // an unknown load does not count
    CHECK(Noise{std::nullopt, 0.31}.disturbed());
}

TEST_CASE("a measurement of one way has its median, quartiles and spread") {
    Time time;
    const Measured m = measure(time.takes({400, 100, 300, 200, 500}), 5, time.clock());
    CHECK(m.ms == 300);
    CHECK(m.low == 200);
    CHECK(m.high == 400);
    CHECK(m.noise.spread == Approx(2.0 / 3));  // 2 and 3 have no exact quotient
    CHECK(m.noise.disturbed());
    CHECK(time.ms == 4 * 1500);  // it was repeated three times
}

TEST_CASE("calls go on until the time suffices to tell the load") {
    Time by_count, by_time;
    measure(by_count.takes({10}), 120, by_count.clock());
    CHECK(std::fmod(by_count.ms, 1200) == 0);
    measure(by_time.takes({10}), 2, by_time.clock());
    CHECK(std::fmod(by_time.ms, 500) == 0);
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
    // in two seconds on two processors: 4 s in all, half a second of them others'
    const ProcessorTime before{7, 100, 7}, after{7.5, 104, 9};
    CHECK(*share_of_others(before, after) == Approx(0.5 / 4));
    // ticks are coarse: what is left may be negative
    CHECK(*share_of_others(before, ProcessorTime{6.5, 104, 9}) == 0);
    CHECK_FALSE(share_of_others(std::nullopt, after).has_value());
    CHECK_FALSE(share_of_others(before, std::nullopt).has_value());
    CHECK_FALSE(share_of_others(before, ProcessorTime{7, 100.7, 7.35}).has_value());
    CHECK(share_of_others(before, ProcessorTime{7, 100.9, 7.45}).has_value());
}

TEST_CASE("processor time is read as Linux writes it") {
    const Folder folder;
    const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto own = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    const double before = own();
    const auto time =
        processor_time(folder.put("stat", "cpu  100 10 20 400 50 3 7 10 99 98\ncpu0 1 2 3\n"));
    REQUIRE(time.has_value());
    // user, nice, system, interrupts, and stolen; guests are counted as users already
    CHECK(time->others <= 150 * tick - before + 1e-9);
    CHECK(time->others >= 150 * tick - own() - 1e-9);
    CHECK(time->all == Approx(600 * tick));
    for (const char* line : {"cpu  0 0 0 0 0 0 0 0", "cpu  1 2 3", "something else"}) {
        INFO(line);
        CHECK_FALSE(processor_time(folder.put("stat", line)).has_value());
    }
    CHECK_FALSE(processor_time(folder / "missing").has_value());
}

TEST_CASE("a table of gains runs work under both ways, in turn, and records what it shows") {
    const Folder folder;
    Results results(folder / "out");
    const Way before = way();
    Time time;
    std::vector<Way> ways;
    Comparison c;
    const std::string printed = written_to(1, [&] {
        GainTable table(results, "512 columns", "plain", "fast", 3, time.clock());
        c = table.ways("softmax", "soft", [&] {
            ways.push_back(way());
            time.ms += way() == Way::plain ? 24 : 6;
        });
    });
    CHECK(way() == before);
    REQUIRE(ways.size() >= 4 + 4 * 9);  // nine rounds take half a second
    CHECK(ways[0] == Way::plain);
    CHECK(ways[1] == Way::plain);
    CHECK(ways[2] == Way::fast);
    CHECK(std::count(ways.begin(), ways.end(), Way::cuda) == 0);
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.size() == 5);
    for (const auto& [name, found, value] : {std::tuple("soft_plain", c.plain_ms, 24),
                                             {"soft_fast", c.fast_ms, 6},
                                             {"soft_gain", c.ratio, 4},
                                             {"soft_low", c.low, 4},
                                             {"soft_high", c.high, 4}}) {
        CHECK(found == value);
        CHECK(json.at(name).at("value") == value);
    }
    CHECK(json.at("soft_plain").at("unit") == "ms");
    CHECK(json.at("soft_gain").contains("disturbed") == c.noise.disturbed());
    CHECK_THAT(printed, Contains("512 columns") && Contains("plain: ms"));
    CHECK_THAT(printed, Contains(fmt::format("{} thread", threads())));
    CHECK_THAT(printed, Contains(fmt::format("{:.3f}", c.plain_ms)));
}

TEST_CASE("an uneven comparison of two sides is shown and recorded as disturbed") {
    const Folder folder;
    Results results(folder / "out");
    Time time;
    const std::string printed = written_to(1, [&] {
        GainTable table(results, "traps", "in it", "around", 3, time.clock());
        table.sides("uneven", "u", time.takes({60, 6}, 2), time.takes({6}), 5);
    });
    CHECK_THAT(printed, Contains("in it: ms") && Contains("disturbed\n"));
    results.save();
    const auto json = nlohmann::json::parse(read_file(folder / "out/results.json"));
    CHECK(json.at("u_gain").at("disturbed") == true);
}
