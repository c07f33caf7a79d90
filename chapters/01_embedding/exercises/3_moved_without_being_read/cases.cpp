#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// How far a row is from its starting point after each of `steps` steps, in units of its first
/// step. Its gradient is 1 in the first step and `later` after that.
std::vector<double> way(double momentum, Index steps, double later) {
    std::vector<double> moved;
    double v = 0, distance = 0;
    for (Index step = 0; step < steps; ++step) {
        v = momentum * v + (step == 0 ? 1 : later);
        distance += v;
        moved.push_back(distance);
    }
    return moved;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    constexpr std::array choice{0.8, 0.9, 0.95, 0.96, 0.98, 0.99};
    const double momentum = choice[static_cast<std::size_t>(cases.between(0, 5))];
    const Index K = cases.between(12, 40);
    const auto add = [&](const char* name, double right, double tolerance,
                         const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(momentum, K),
                   .results = values(right),
                   .tolerance = tolerance,
                   .names = {"momentum", "K"},
                   .mistakes = mistakes});
    };
    const auto mistake = [](const char* says, double wrong) {
        return Mistake{says, values(wrong)};
    };
    const auto last = static_cast<std::size_t>(K - 1);
    const double whole = way(momentum, 10'000, 0).back();
    Index half = 1;
    for (const double distance : way(momentum, 10'000, 0))
        if (distance < whole / 2) ++half;
    add("later", whole - 1, 1e-6,
        {mistake("the first step is counted, too; count the later steps alone", whole),
         mistake("that is the second step alone", momentum)});
    add("half", static_cast<double>(half), 0,
        {mistake("the first step counts, too", static_cast<double>(half - 1))});
    add("moved", way(momentum, K, 0)[last], 5e-3,
        {mistake("that is without the first step", way(momentum, K, 0)[last] - 1),
         mistake("that is the distance after all steps, not after K", whole)});
    add("padding", way(momentum, K, 1)[last], 5e-3,
        {mistake("v already has the gradient when dE is set to zero, so the row does move", 0),
         mistake("here there is a gradient in every step, not only in the first",
                 way(momentum, K, 0)[last]),
         mistake("that is without momentum", static_cast<double>(K))});
}
