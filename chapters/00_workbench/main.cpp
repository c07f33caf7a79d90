#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chapters/00_workbench/descent.hpp"
#include "lib/gradcheck.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [three ways]
/// Prints every gradient of a small linear map: by hand, by `Linear::backward`, and by differences.
void three_ways(Results& results) {
    Random random(1);
    Linear map(2, 3, true, random);
    map.weight.value = Tensor({3, 2}, {1, 0, 2, -1, 0, 3});  // [d_out, d_in]
    map.bias.value = Tensor({3}, {1, 0, -1});
    const Tensor x({2, 2}, {1, 2, 3, -1});          // [words, d_in]: two words, two numbers each
    const Tensor dy({2, 3}, {1, -1, 2, 0, 1, -1});  // [words, d_out]

    Linear::Cache cache;
    const Tensor y = map.forward(x, &cache);
    const Tensor dx = map.backward(dy, cache);
    section("The same gradient three times");
    fmt::print("y = {} and {}, loss <y, dy> = {}\n\n{:8}{:>8}{:>9}{:>13}\n", y.values().first(3),
               y.values().last(3), dot(y, dy), "", "by hand", "formula", "differences");
    const auto loss = [&] { return dot(map.forward(x), dy); };

    double worst = 0;
    // [three ways: differences]
    const auto slope = [&](Real& number) {
        number += 1;
        const double right = loss();
        number -= 2;
        const double left = loss();
        number += 1;
        return (right - left) / 2;
    };
    // [three ways: compared]
    const auto compare = [&](const char* name, Tensor moved, const Tensor& formula,
                             const Tensor& by_hand) {
        for (Index i = 0; i < moved.size(); ++i) {
            const double found = slope(moved.data()[i]);
            const Real hand = by_hand.data()[i], written = formula.data()[i];
            fmt::print("{:8}{:>8}{:>9}{:>13}\n", fmt::format("{}[{}]", name, i), hand, written,
                       found);
            worst = std::max({worst, std::abs(found - hand), std::abs(found - written)});
        }
    };
    // [three ways: by hand]
    compare("dx", x, dx, Tensor({2, 2}, {-1, 7, 2, -4}));
    compare("dW", map.weight.value, map.weight.grad(), Tensor({3, 2}, {1, 2, 2, -3, -1, 5}));
    compare("db", map.bias.value, map.bias.grad(), Tensor({3}, {1, 0, 1}));
    results.set("three_ways_worst", worst);
    results.array("x", x);
    results.array("weight", map.weight.value);
    results.array("y", y);
    results.array("dy", dy);
}
// [log sum exp]
/// `f(x) = log sum_j exp(x_j)`. Its gradient is `exp(x_i) / sum_j exp(x_j)`.
template <class T>
T log_sum_exp(const std::vector<T>& x) {
    T sum = 0;
    for (T number : x) sum += std::exp(number);
    return std::log(sum);
}

/// Slopes of a tangent of the curve `f(x, 0)` and of the two chords that approximate it.
void chords(Results& results) {
    const auto f = [](double x) { return log_sum_exp<double>({x, 0}); };
    const double x = 0.5, delta = 1.5, slope = std::exp(x) / (std::exp(x) + 1);
    const double one_sided = (f(x + delta) - f(x)) / delta;
    const double central = (f(x + delta) - f(x - delta)) / (2 * delta);
    results.set("slope", slope);
    results.set("one_sided", one_sided);
    results.set("central", central);

    Tensor curve({2, 121}), points({2, 3});
    for (Index i = 0; i < 121; ++i) {
        curve(0, i) = static_cast<Real>(-2.5 + static_cast<double>(i) / 20);
        curve(1, i) = static_cast<Real>(f(curve(0, i)));
    }
    for (Index i = 0; i < 3; ++i) {
        points(0, i) = static_cast<Real>(x + static_cast<double>(i - 1) * delta);
        points(1, i) = static_cast<Real>(f(points(0, i)));
    }
    results.array("curve", curve);
    results.array("points", points);
}
// [step errors]
/// Relative errors of central and of one-sided differences.
struct StepErrors {
    double central, one_sided;
};

/// Takes both kinds of differences with numbers of type T.
template <class T>
StepErrors step_errors(const Tensor& at, double step) {
    const std::vector<double> exact_x(at.values().begin(), at.values().end());
    std::vector<T> x(at.values().begin(), at.values().end());
    const T delta = static_cast<T>(step), here = log_sum_exp(x);
    double central = 0, one_sided = 0, length = 0;  // sums of squares over all elements
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = std::exp(exact_x[i] - log_sum_exp(exact_x));
        const T before = x[i];
        x[i] = before + delta;
        const T right = log_sum_exp(x);
        x[i] = before - delta;
        const T left = log_sum_exp(x);
        x[i] = before;
        central += std::pow((right - left) / (2 * delta) - exact, 2);
        one_sided += std::pow((right - here) / delta - exact, 2);
        length += exact * exact;
    }
    return {std::sqrt(central / length), std::sqrt(one_sided / length)};
}
// [error against step]
void error_against_step(std::uint64_t seed, Results& results) {
    Random random(seed);
    const Tensor x = normal({16}, random.stream());
    const char* const names[] = {"double_central", "double_one_sided", "float_central",
                                 "float_one_sided"};
    constexpr Index n = 23;  // two steps per decade, from 1e-1 to 1e-12
    Tensor steps({n}), errors({4, n});
    section("Error against step");
    fmt::print("{:>6}{:>18}{:>18}{:>18}{:>18}\n", "step", "double, central", "one-sided",
               "float, central", "one-sided");
    for (Index i = 0; i < n; ++i) {
        const double step = std::pow(10, -1 - static_cast<double>(i) / 2);
        const auto [dc, d1] = step_errors<double>(x, step);
        const auto [fc, f1] = step_errors<float>(x, step);
        steps(i) = static_cast<Real>(step);
        for (Index curve = 0; double error : {dc, d1, fc, f1})
            errors(curve++, i) = static_cast<Real>(error);
        if (i % 2 == 0)
            fmt::print("{:6.0e}{:18.1e}{:18.1e}{:18.1e}{:18.1e}\n", step, dc, d1, fc, f1);
    }
    for (Index curve = 0; const char* name : names) {
        const auto row = errors.values().subspan(static_cast<std::size_t>(curve++ * n), n);
        const auto best = std::min_element(row.begin(), row.end());
        results.set_varying(std::string(name) + "_error", *best);
        results.set_varying(std::string(name) + "_step", steps(best - row.begin()));
    }
    results.array("steps", steps);
    results.array("errors", errors);
}
// [planted error]
/// Checks a right and a wrong gradient of the weight, each with two cotangents.
void planted_error(std::uint64_t seed, Results& results) {
    constexpr double step = 0.0625;
    constexpr Index words = 7, d_in = 5, d_out = 3;
    Random random(seed);
    Linear map(d_in, d_out, true, random);
    const Tensor x = normal({words, d_in}, random.stream());
    const Tensor ones = Tensor::full({words, d_out}, 1);
    const Tensor drawn = normal({words, d_out}, random.stream());
    const auto check = [&](const Tensor& dW, const Tensor& dy, double delta) {
        return check_gradient([&] { return map.forward(x); }, map.weight.value, dW, dy, delta);
    };
    const auto right = [&](const Tensor& dy) { return matmul(dy, x, {.transpose_a = true}); };
    const auto wrong = [&](const Tensor& dy) { return matmul(dy.reshape({d_out, words}), x); };

    section("A planted error");
    fmt::print("{:26}{:>12}{:>12}\n", fmt::format("relative error, step {}", step), "ones",
               "drawn");
    const auto compare = [&](const char* formula, const auto& dW) {
        const GradientError with_ones = check(dW(ones), ones, step);
        const GradientError with_drawn = check(dW(drawn), drawn, step);
        fmt::print("{:26}{:12.1e}{:12.1e}\n", formula, with_ones.relative, with_drawn.relative);
        return std::pair{with_ones.relative, with_drawn.relative};
    };
    compare("dW = transpose(dy) x", right);
    const auto [wrong_ones, wrong_drawn] = compare("dW = reshape(dy) x", wrong);
    results.set_varying("wrong_ones", wrong_ones);
    results.set_varying("wrong_drawn", wrong_drawn);

    section("A right gradient, checked in float");
    const auto in_float = [&](double delta) { return check(right(drawn), drawn, delta).relative; };
    for (double delta : {1e-1, 1e-3, 1e-5, 1e-7})
        fmt::print("step {:.0e}: relative error {:.1e}\n", delta, in_float(delta));
    results.set_varying("float_alarm", in_float(1e-5));
}
// [random numbers]
void random_numbers(std::uint64_t seed) {
    section("Random numbers");
    for (std::uint32_t counter : {0u, 1u, 2u})
        fmt::print("philox(counter {}, key 0) = {:08x}\n", counter,
                   fmt::join(philox({counter, 0, 0, 0}, {0, 0}), " "));
    Random random(seed);
    const Stream first = random.stream(), second = random.stream();
    fmt::print("first stream   {::.3f}\n", first.uniform4(0));
    fmt::print("second stream  {::.3f}\n", second.uniform4(0));
    fmt::print("first again    {::.3f}\n", first.uniform4(0));
    random.next_step();
    fmt::print("next step      {::.3f}\n", first.uniform4(0));
}
// [main]
int main(int argc, char** argv) {
    Program program("Compute the gradient of a linear map by hand, by formula, and by differences");
    return program.run(argc, argv, [&] {
        three_ways(program.results());
        one_step(program.results());
        learning(program.results());
        chords(program.results());
        error_against_step(program.seed(), program.results());
        planted_error(program.seed(), program.results());
        random_numbers(program.seed());
    });
}
