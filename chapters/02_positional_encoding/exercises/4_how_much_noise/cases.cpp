#include "judge/answer/cases.hpp"

#include <array>
#include <cmath>

using namespace abh;
using namespace abh::judge;

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    constexpr std::array choice{0.1, 0.2, 0.25, 0.4};
    const double p = choice[static_cast<std::size_t>(cases.between(0, 3))];
    std::array<Index, 3> x{}, w{};
    for (Index& number : x) number = cases.between(2, 9);
    for (Index& number : w) number = cases.between(1, 5);
    const Index n = 500 * cases.between(2, 8);
    const auto add = [&](const char* name, double right, double tolerance,
                         const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(p, x[0], x[1], x[2], w[0], w[1], w[2], n),
                   .results = values(right),
                   .tolerance = tolerance,
                   .names = {"p_drop", "x_0", "x_1", "x_2", "w_0", "w_1", "w_2", "n"},
                   .mistakes = mistakes});
    };
    const auto mistake = [](const char* says, double wrong) {
        return Mistake{says, values(wrong)};
    };
    // all eight outcomes for three numbers, each kept or dropped
    const double mean = static_cast<double>(w[0] * x[0] + w[1] * x[1] + w[2] * x[2]);
    double variance = 0, fourth = 0, of_one = 0;
    for (unsigned kept = 0; kept < 8; ++kept) {
        double sum = 0, probability = 1;
        for (unsigned i = 0; i < 3; ++i) {
            const bool is_kept = (kept >> i) & 1;
            probability *= is_kept ? 1 - p : p;
            if (is_kept) sum += static_cast<double>(w[i] * x[i]) / (1 - p);
        }
        variance += probability * std::pow(sum - mean, 2);
        fourth += probability * std::pow(sum - mean, 4);
        const double y = (kept & 1) ? static_cast<double>(x[0]) / (1 - p) : 0;
        of_one += probability * std::pow(y - static_cast<double>(x[0]), 2);
    }
    add("one", of_one, 5e-3,
        {mistake("kept numbers are divided by 1 - p_drop", of_one * (1 - p) * (1 - p)),
         mistake("that is the standard deviation, not the variance", std::sqrt(of_one))});
    add("sum", variance, 5e-3,
        {mistake("that is the standard deviation, not the variance", std::sqrt(variance)),
         mistake("the numbers are dropped independently, so variances add, not deviations",
                 mean * mean * p / (1 - p))});
    add("deviation", std::sqrt((fourth - variance * variance) / static_cast<double>(n)), 1e-2,
        {mistake("that holds for normal numbers, but these have another fourth moment",
                 variance * std::sqrt(2 / static_cast<double>(n)))});
}
