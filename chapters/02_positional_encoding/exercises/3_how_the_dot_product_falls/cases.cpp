#include "judge/answer/cases.hpp"

#include <array>
#include <cmath>
#include <numbers>

using namespace abh;
using namespace abh::judge;

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    constexpr std::array bases{1000, 2000, 5000, 20'000, 50'000, 100'000};
    const double base = bases[static_cast<std::size_t>(cases.between(0, 5))];
    const Index width = 64 * cases.between(4, 16), delta = cases.between(8, 40);
    const Index longest = 50 * cases.between(3, 9);
    const double d = static_cast<double>(width), shift = static_cast<double>(delta);
    const auto add = [&](const char* name, double right, double tolerance,
                         const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(base, width, delta, longest),
                   .results = values(right),
                   .tolerance = tolerance,
                   .names = {"base", "d", "delta", "longest"},
                   .mistakes = mistakes});
    };
    const auto mistake = [](const char* says, double wrong) {
        return Mistake{says, values(wrong)};
    };
    double sum = 0;
    Index hands = 0;
    for (Index i = 0; i < width / 2; ++i) {
        const double frequency = std::pow(base, -2 * static_cast<double>(i) / d);
        sum += std::cos(frequency * shift);
        if (2 * std::numbers::pi / frequency <= static_cast<double>(longest)) ++hands;
    }
    const double fall = (std::log(shift) + std::numbers::egamma) / std::log(base);
    add("length", d / 2, 1e-9,
        {mistake("each hand has one sine and one cosine, so how many hands are there?", d),
         mistake("that is the length, not the squared length", std::sqrt(d / 2))});
    add("hands", static_cast<double>(hands), 0,
        {mistake("those are columns, two for each hand", static_cast<double>(2 * hands)),
         mistake("hand 0 counts, too", static_cast<double>(hands - 1))});
    add("formula", d / 2 * (1 - fall), 5e-3, {});
    add("sum", sum, 1e-3, {});
    add("half", std::sqrt(base) * std::exp(-std::numbers::egamma), 5e-3, {});
}
