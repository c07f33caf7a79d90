#include <fmt/ranges.h>

#include <Eigen/Core>
#include <string>
#include <vector>

#include "chapters/00_workbench/descent.hpp"
#include "lib/tensor.hpp"

namespace abh {
namespace {

using Matrix = Eigen::MatrixXd;
using Row = Eigen::RowVectorXd;
// [example]
/// The same map and prices as matrices of doubles.
struct Example {
    Matrix x{{1, 2}, {3, -1}}, W{{1, 0}, {2, -1}, {0, 3}}, dy{{1, -1, 2}, {0, 1, -1}};
    Row b{{1, 0, -1}}, db = dy.colwise().sum();
    Matrix dW = dy.transpose() * x;

    /// The results after a step against a gradient of the weight, right or wrong.
    Matrix y(double rate, const Matrix& against) const {
        return (x * (W - rate * against).transpose()).rowwise() + (b - rate * db);
    }
};

/// `[0.9, -0.2] [1.8, -0.7]`: the rows of a matrix.
std::string rows_of(const Matrix& m) {
    std::vector<std::string> rows;
    for (const auto& row : m.rowwise())
        rows.push_back(fmt::format("[{:.1f}]", fmt::join(row, ", ")));
    return fmt::format("{}", fmt::join(rows, " "));
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

}  // namespace
// [one step]
void one_step(Results& results) {
    const Example e;
    const auto loss = [&](double rate, const Matrix& against) {
        return e.y(rate, against).cwiseProduct(e.dy).sum();
    };
    const double weights = e.dW.squaredNorm(), biases = e.db.squaredNorm(), before = loss(0, e.dW);
    section("One step");
    fmt::print("W - 0.1 dW = {}\nb - 0.1 db = {}\ny          = {}\n\n", rows_of(e.W - 0.1 * e.dW),
               rows_of(e.b - 0.1 * e.db), rows_of(e.y(0.1, e.dW)));
    fmt::print("predicted:  {} - 0.1 ({} + {}) = {:.1f}\ncomputed:   {:.1f}\n", before, weights,
               biases, before - 0.1 * (weights + biases), loss(0.1, e.dW));
    results.set("loss_before", before);
    results.set("loss_after", loss(0.1, e.dW));
    results.set("loss_after_wrong", loss(0.1, Matrix{{1, -1}, {2, 0}, {1, -1}} * e.x));
}
// [twenty steps]
void learning(Results& results) {
    const Example e;
    const Matrix target = e.y(0, e.dW) - e.dy;
    const double slope = e.dW.squaredNorm() + e.db.squaredNorm();
    std::vector<std::vector<double>> losses;
    std::string learned;
    for (const double rate : {0.01, 0.1, 0.4, 0.2}) {
        Example at = e;
        losses.push_back(learn(at.W, at.b, e.x, target, rate));
        if (rate == 0.1) learned = rows_of(at.y(0, at.dW));
    }
    section("Twenty steps");
    fmt::print("target {}\n\n{:>4}{:>14}{:>14}{:>14}\n", rows_of(target), "step", "rate 0.01",
               "rate 0.1", "rate 0.4");
    for (std::size_t step : {0u, 1u, 2u, 3u, 4u, 5u, 10u, 20u})
        fmt::print("{:4}{:14.3f}{:14.3f}{:14.3g}\n", step, losses[0][step], losses[1][step],
                   losses[2][step]);
    fmt::print("\ny after 20 steps of rate 0.1: {}\n", learned);
    results.set("good_first", losses[1][1]);
    results.set("risky_first", losses[3][1]);
    results.set_varying("risky_last", losses[3][20]);
    Tensor along({3, 85});  // length of the step, loss, and what the gradient promises
    for (Index i = 0; i < along.dim(1); ++i) {
        const double rate = static_cast<double>(i) / 200;
        along(0, i) = static_cast<Real>(rate);
        along(1, i) = static_cast<Real>((e.y(rate, e.dW) - target).squaredNorm() / 2);
        along(2, i) = static_cast<Real>(losses[0][0] - rate * slope);
    }
    results.array("along", along);
}

}  // namespace abh
