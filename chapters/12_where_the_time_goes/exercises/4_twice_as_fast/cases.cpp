#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

constexpr Index never = 1 << 20;

struct World {
    double cold = 0;    ///< seconds that the first call of each way takes in addition
    double slower = 1;  ///< calls take this many times as long from number `slow_from` on
    Index slow_from = never;
    Index held = never, held_again = never;  ///< numbers of calls held up for 50 times their time
};

void add(Cases& cases, const char* criterion, const World& w, Index rounds, const char* about) {
    const double ours = static_cast<double>(cases.between(20, 60)) / 8,
                 hers = static_cast<double>(cases.between(5, 19)) / 8;
    const auto result = [](double x) { return values(static_cast<Real>(x)); };
    cases.add({.criterion = criterion,
               .call = "gain",
               .arguments =
                   values(ours, hers, w.cold, w.slower, w.slow_from, w.held, w.held_again, rounds),
               .results = result(ours / hers),
               .about = about,
               .names = {"ours", "hers", "cold", "slower", "slow_from", "held", "held_again",
                         "rounds", "gain"},
               .mistakes = {{"the time of hers is divided by that of ours", result(hers / ours)},
                            {"the first calls, which are cold, are measured",
                             result((ours + w.cold) / (hers + w.cold))},
                            {"the machine was slower when hers was measured: take turns, and take "
                             "the ratio within a round",
                             result(ours / hers / w.slower)}}});
}

/// An even number of rounds, each with a ratio of its own.
void add_even(Cases& cases) {
    const double hers = static_cast<double>(cases.between(5, 19)) / 8;
    Tensor ours({4}, {2, 100, 1, 4});
    ours *= static_cast<Real>(hers);
    const auto result = [](double x) { return values(static_cast<Real>(x)); };
    const char* one = "that is one of the two in the middle: their mean is the median";
    cases.add({.criterion = "calls held up",
               .call = "rounds",
               .arguments = values(ours, hers),
               .results = result(3),
               .about = "four rounds, whose ratios are 2, 100, 1 and 4",
               .names = {"ours", "hers", "gain"},
               .mistakes = {{one, result(4)}, {one, result(2)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "cold calls", {.cold = 4}, 1, "the first calls take 4 s longer; one round");
    add(cases, "cold calls", {.cold = 7}, 2, "the first calls take 7 s longer; two rounds");
    // after two calls that warm up, the slowdown begins inside the middle one of 7 or 9 rounds
    add(cases, "a machine that slows down", {.cold = 1, .slower = 2, .slow_from = 2 + 2 * 3 + 1}, 7,
        "from the 10th call on, all calls take twice as long; 7 rounds");
    add(cases, "a machine that slows down", {.cold = 1, .slower = 3, .slow_from = 2 + 2 * 4 + 1}, 9,
        "from the 12th call on, all calls take three times as long; 9 rounds");
    add(cases, "calls held up", {.cold = 1, .held = cases.between(4, 7), .held_again = 11}, 7,
        "two calls are held up for 50 times their time; 7 rounds");
    add(cases, "calls held up", {.cold = 1, .held = 5, .held_again = 13}, 9,
        "two calls are held up for 50 times their time; 9 rounds");
    add_even(cases);
    for (const char* const test : {"test: warm up", "test: turns and medians"}) {
        cases.add_test(test, "own", "your own gain");
        cases.add_test(test, "right", "a correct function that is not yours");
    }
    cases.add_test("test: warm up", "once",
                   "a function that measures ours once, cold, and then the mean of hers");
    cases.add_test("test: warm up", "cold", "a function that does not warm up");
    cases.add_test("test: turns and medians", "one_after_the_other",
                   "a function that measures ours in all rounds, and then hers");
    cases.add_test("test: turns and medians", "mean",
                   "a function that returns the mean of the ratios");
    cases.add_test("test: turns and medians", "upper",
                   "a function that takes the upper of the two ratios in the middle");
    cases.add_test("test: turns and medians", "upside_down",
                   "a function that divides hers by ours");
}
