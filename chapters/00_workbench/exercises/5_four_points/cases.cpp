#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Index power(Index x, int n) {
    Index product = 1;
    for (int i = 0; i < n; ++i) product *= x;
    return product;
}

/// The numerators of both formulas for f(x) = x^n, computed in whole numbers.
Index over_two(Index x, Index delta, int n) {
    return power(x + delta, n) - power(x - delta, n);
}
Index over_four(Index x, Index delta, int n) {
    return -power(x + 2 * delta, n) + 8 * over_two(x, delta, n) + power(x - 2 * delta, n);
}

double number(Index n) {
    return static_cast<double>(n);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    // p is a multiple of 15, so that the exponents of two are whole numbers
    const Index x = cases.between(2, 9), delta = cases.between(2, 6), p = 15 * cases.between(2, 8);
    const auto add = [&](const char* name, double right, const std::vector<Mistake>& mistakes) {
        cases.add({.criterion = name,
                   .call = name,
                   .arguments = values(x, delta, p),
                   .results = values(right),
                   .names = {"x", "delta", "p"},
                   .mistakes = mistakes});
    };
    const auto mistake = [](const char* says, double wrong) {
        return Mistake{says, values(wrong)};
    };
    const double two = number(over_two(x, delta, 4)) / number(2 * delta) - number(4 * power(x, 3));
    const double four =
        number(over_four(x, delta, 6)) / number(12 * delta) - number(6 * power(x, 5));
    add("error_two", two,
        {mistake("the sign is wrong; it is the formula minus the derivative", -two),
         mistake("f''' of x^4 is 24 x, and the error has it divided by 3!", 6 * two)});
    add("error_four", four,
        {mistake("the sign is wrong; it is the formula minus the derivative", -four),
         mistake("the terms in delta^2 cancel, so the error is of the order delta^4",
                 number(20 * power(x, 3) * delta * delta))});
    const double bits = number(p);
    add("step_four", -bits / 5,
        {mistake("that is the best step of a central difference on two points", -bits / 3),
         mistake("that is the least error; which step gives it?", -4 * bits / 5),
         mistake("where delta^4 = eps / delta, delta is not eps^(1/4)", -bits / 4),
         mistake("the step is smaller than 1, so its exponent is negative", bits / 5)});
    add("least_two", -2 * bits / 3,
        {mistake("that is the best step; how large is the error there?", -bits / 3),
         mistake("the error is smaller than 1, so its exponent is negative", 2 * bits / 3),
         mistake("that is the least error of the one-sided difference", -bits / 2)});
    add("least_four", -4 * bits / 5,
        {mistake("that is the best step; how large is the error there?", -bits / 5),
         mistake("the error is smaller than 1, so its exponent is negative", 4 * bits / 5)});
}
