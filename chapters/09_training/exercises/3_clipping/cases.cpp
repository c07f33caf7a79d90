#include "judge/answer/cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

using namespace abh;
using namespace abh::judge;

namespace {

using Three = std::array<Tensor, 3>;

Three each(const Three& x, const auto& f) {
    Three y;
    for (std::size_t i = 0; i < 3; ++i) {
        y[i] = x[i].clone();
        for (Real& number : y[i].values()) number = f(number);
    }
    return y;
}

void add(Cases& cases, const char* criterion, const Three& g, Real factor, double largest = 0) {
    const double norm = std::sqrt(dot(g[0], g[0]) + dot(g[1], g[1]) + dot(g[2], g[2]));
    const Real most = largest > 0 ? static_cast<Real>(largest) : factor * static_cast<Real>(norm);
    const Real by = norm > most ? most / static_cast<Real>(norm) : 1;
    const auto results = [&](Real returned, const Three& x) {
        return values(Tensor({1}, {returned}), x[0], x[1], x[2]);
    };
    const auto scaled = [&](Real c) { return each(g, [&](Real x) { return c * x; }); };
    const Real n = static_cast<Real>(norm);
    Three apart;
    for (std::size_t i = 0; i < 3; ++i) {
        apart[i] = g[i].clone();
        const Real own = static_cast<Real>(std::sqrt(dot(g[i], g[i])));
        if (own > most) apart[i] *= most / own;
    }
    Case c{.criterion = criterion,
           .call = "clip_gradients",
           .arguments = values(g[0], g[1], g[2], most),
           .results = results(n, scaled(by)),
           .about = fmt::format("norm {:.4g}, largest {:.4g}", norm, most),
           .names = {"a", "b", "c", "largest", "the norm that is returned", "the gradient of a",
                     "the gradient of b", "the gradient of c"},
           .constants = {{"largest", static_cast<double>(most)}, {"the norm", norm}}};
    if (norm > 0)
        c.mistakes = {
            {"smaller gradients should stay as they are, because no factor is above 1",
             results(n, scaled(most / n))},
            {"each parameter is clipped by its own norm, but all share one factor",
             results(n, apart)},
            {"each number is clipped, but only their norm should be, so that their ratios stay",
             results(n, each(g, [&](Real x) { return std::clamp(x, -most, most); }))},
            {"the norm is the root of the sum of squares, not that sum",
             results(n * n, scaled(by))},
            {"the norm is the root of the sum of squares, not that sum",
             results(n * n, scaled(most / n / n))},
            {"the gradients are brought to norm 1 instead of largest", results(n, scaled(1 / n))}};
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto three = [&] {
        return Three{cases.normal({3, 2}), cases.normal({1}), cases.normal({2, 1, 4})};
    };
    add(cases, "large gradients", {Tensor({2}, {3, 0}), Tensor({1}, {4}), Tensor({1}, {0})}, 0, 1);
    for (const Real factor : {Real(0.01), Real(0.3), Real(0.9)})
        add(cases, "large gradients", three(), factor);
    add(cases, "large gradients", each(three(), [](Real x) { return Real(1e6) * x; }), Real(1e-6));
    for (const Real factor : {Real(1.1), Real(40)}) add(cases, "small gradients", three(), factor);
    const Three zero = each(three(), [](Real) { return Real(0); });
    add(cases, "zero, and just as large", zero, 0, 1);
    add(cases, "zero, and just as large", {Tensor({2}, {3, 0}), Tensor({1}, {0}), Tensor({1}, {4})},
        0, 5);
}
