#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/linear.hpp"
#include "lib/matmul.hpp"
#include "lib/program/program.hpp"

using namespace abh;
using Matrix = Eigen::MatrixXd;
using Row = Eigen::RowVectorXd;
// [example]
/// Two words of two numbers each, the map that makes three of them, and what the results cost.
struct Example {
    Tensor x{{2, 2}, {1, 2, 3, -1}};             // [words, d_in]
    Tensor weight{{3, 2}, {1, 0, 2, -1, 0, 3}};  // [d_out, d_in]
    Tensor bias{{3}, {1, 0, -1}};
    Tensor dy{{2, 3}, {1, -1, 2, 0, 1, -1}};  // [words, d_out]
};
// [three ways]
/// Prints every gradient of a small linear map: by hand, by `Linear::backward`, and by differences.
void three_ways(Results& results) {
    Random random(1);
    const auto [x, weight, bias, dy] = Example();
    Linear map(2, 3, true, random);
    map.weight.value = weight;
    map.bias.value = bias;

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
    for (const auto& [name, values] : {std::pair{"x", x}, {"weight", weight}, {"y", y}, {"dy", dy}})
        results.array(name, values);
}
// [one step]
/// `[0.9, -0.2] [1.8, -0.7]`: the rows of a matrix.
std::string rows_of(const Matrix& m) {
    std::vector<std::string> rows;
    for (const auto& row : m.rowwise())
        rows.push_back(fmt::format("[{:.1f}]", fmt::join(row, ", ")));
    return fmt::format("{}", fmt::join(rows, " "));
}

/// Takes one step of length 0.1 against the gradient, and one against a wrong gradient.
void one_step(Results& results) {
    const Example example;
    const auto numbers = [](const Tensor& t) { return Matrix(matrix(t).cast<double>()); };
    const Matrix x = numbers(example.x), dy = numbers(example.dy), W = numbers(example.weight);
    const Row b = numbers(example.bias);
    const Matrix dW = dy.transpose() * x;
    const Row db = dy.colwise().sum();
    const auto y = [&](double rate, const Matrix& against) {
        return Matrix((x * (W - rate * against).transpose()).rowwise() + (b - rate * db));
    };
    const auto loss = [&](double rate, const Matrix& against) {
        return y(rate, against).cwiseProduct(dy).sum();
    };
    const double weights = dW.squaredNorm(), biases = db.squaredNorm(), before = loss(0, dW);
    section("One step");
    fmt::print("W - 0.1 dW = {}\nb - 0.1 db = {}\ny          = {}\n\n", rows_of(W - 0.1 * dW),
               rows_of(b - 0.1 * db), rows_of(y(0.1, dW)));
    fmt::print("predicted:  {} - 0.1 ({} + {}) = {:.1f}\ncomputed:   {:.1f}\n", before, weights,
               biases, before - 0.1 * (weights + biases), loss(0.1, dW));
    results.set("weight_squares", weights);
    results.set("bias_squares", biases);
    results.set("loss_before", before);
    results.set("loss_after", loss(0.1, dW));
    results.set("loss_after_two", loss(0.2, dW));  // the prices stay the same
    results.set("loss_after_wrong", loss(0.1, numbers(example.dy.reshape({3, 2})) * x));
}
// [learning]
/// Moves W and b so that the rows of x become those of `target`. Returns the loss before each step.
std::vector<double> learn(Matrix& W, Row& b, const Matrix& x, const Matrix& target, double rate) {
    std::vector<double> losses;
    // [learning: the loop]
    for (int step = 0; step <= 20; ++step) {
        const Matrix y = (x * W.transpose()).rowwise() + b;  // forward
        const Matrix dy = y - target;                        // what each number of y costs
        losses.push_back(dy.squaredNorm() / 2);              // the loss
        const Matrix dW = dy.transpose() * x;                // backward
        const Row db = dy.colwise().sum();
        W -= rate * dW;  // the step
        b -= rate * db;
    }
    // [learning: tried]
    return losses;
}

/// Lets the map learn with steps of several lengths, and draws the loss along the first one.
void learning(Results& results) {
    const Example example;
    const auto numbers = [](const Tensor& t) { return Matrix(matrix(t).cast<double>()); };
    const Matrix x = numbers(example.x), dy = numbers(example.dy);
    const Matrix y =
        (x * numbers(example.weight).transpose()).rowwise() + Row(numbers(example.bias));
    const Matrix target = y - dy;
    std::vector<std::vector<double>> losses;
    std::string learned;
    for (const double rate : {0.01, 0.1, 0.4, 0.2}) {
        Matrix W = numbers(example.weight);
        Row b = numbers(example.bias);
        losses.push_back(learn(W, b, x, target, rate));
        if (rate == 0.1) learned = rows_of((x * W.transpose()).rowwise() + b);
    }
    section("Twenty steps");
    fmt::print("target {}\n\n{:>4}{:>14}{:>14}{:>14}\n", rows_of(target), "step", "rate 0.01",
               "rate 0.1", "rate 0.4");
    const auto shown = [](double loss) {
        return loss < 1e4 ? fmt::format("{:14.3f}", loss) : fmt::format("{:14.0e}", loss);
    };
    for (std::size_t step : {0u, 1u, 2u, 3u, 4u, 5u, 10u, 20u})
        fmt::print("{:4}{}{}{}\n", step, shown(losses[0][step]), shown(losses[1][step]),
                   shown(losses[2][step]));
    fmt::print("\ny after 20 steps of rate 0.1: {}\n", learned);
    for (std::size_t i = 0; const char* name : {"short", "good", "long", "risky"}) {
        results.set(std::string(name) + "_first", losses[i][1]);
        results.set_varying(std::string(name) + "_last", losses[i++][20]);
    }
    results.set("squared_loss", losses[0][0]);

    const Matrix dW = dy.transpose() * x;
    const Row db = dy.colwise().sum();
    const Matrix change = (x * dW.transpose()).rowwise() + db;  // of y, for a step of 1
    const double slope = dW.squaredNorm() + db.squaredNorm();
    Tensor along({3, 85});  // length of the step, loss, and what the gradient promises
    for (Index i = 0; i < along.dim(1); ++i) {
        const double rate = static_cast<double>(i) / 200;
        along(0, i) = static_cast<Real>(rate);
        along(1, i) = static_cast<Real>((dy - rate * change).squaredNorm() / 2);
        along(2, i) = static_cast<Real>(losses[0][0] - rate * slope);
    }
    results.array("along", along);
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
