// Per real: the gradient check.
#include "lib/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/eigen.hpp"
#include "lib/linear.hpp"
#include "tests/products.hpp"

using namespace abh;

namespace {

/// Relative error of a weight gradient of `map`, at a step that suits `Real`. A linear map has no
/// curvature, so that a long step costs nothing.
double weight_error(Linear& map, const Tensor& x, const Tensor& dW, const Tensor& dy) {
    const double step = in_double ? 1e-5 : 0.0625;
    return check_gradient([&] { return map.forward(x); }, map.weight.value, dW, dy, step).relative;
}

Tensor softmax_rows(const Tensor& x) {
    Tensor y(x.shape());
    matrix(y) = matrix(x).array().exp();
    matrix(y).array().colwise() /= matrix(y).rowwise().sum().eval().array();
    return y;
}

}  // namespace

TEST_CASE("the gradient check finds one element that is off by one part in a hundred thousand") {
    if constexpr (in_double) {
        Draw draw;
        const Tensor a = draw({3, 5}), b = draw({5, 2}), dc = draw({3, 2}), before = a.clone();
        Tensor da = matmul_backward(dc, a, b).da;
        const auto forward = [&] { return matmul(a, b); };
        REQUIRE(check_gradient(forward, a, da, dc).relative < 1e-6);
        REQUIRE(check_gradient(forward, a, da, dc).checked == 15);
        da(1, 2) *= Real(1 + 1e-5);
        const GradientError error = check_gradient(forward, a, da, dc);
        REQUIRE(error.relative == Approx(1e-5).epsilon(0.01));
        REQUIRE(error.element == 7);
        REQUIRE(to_string(error).rfind("relative 1.0e-05 at element 7 (analytic ", 0) == 0);
        REQUIRE(same_bits(a, before));
    }
}

TEST_CASE("the gradient check asks again with other steps where a kink lies between") {
    if constexpr (in_double) {
        const Tensor x({3}, {1, Real(3e-6), -1}), c({3}, {2, 3, 4});
        const auto relu = [&] {
            Tensor y(x.shape());
            for (Index i = 0; i < 3; ++i) y(i) = std::max(x(i), Real(0));
            return y;
        };
        const Tensor right({3}, {2, 3, 0}), wrong({3}, {2, 1, 0});
        REQUIRE(check_gradient(relu, x, right, c).relative > 0.1);
        REQUIRE(check_gradient(relu, x, right, c, 1e-5, true).relative < 1e-8);
        REQUIRE(check_gradient(relu, x, wrong, c, 1e-5, true).relative > 0.1);
        REQUIRE(check_gradient(relu, x, right, c, 1e-5, true).checked == 3);
    }
}

TEST_CASE("the gradient check reports what is not a number and passes a gradient of zero") {
    Draw draw;
    const Tensor x = draw({4}), y = draw({4}), c = draw({4});
    Tensor dx = Tensor::zeros({4});
    const auto constant = [&] { return y; };
    REQUIRE(check_gradient(constant, x, dx, c).relative == 0);
    dx(2) = std::numeric_limits<Real>::quiet_NaN();
    REQUIRE(std::isnan(check_gradient(constant, x, dx, c).relative));
    REQUIRE(check_gradient(constant, x, dx, c).element == 2);
    REQUIRE_THROWS_WITH(check_gradient(constant, x, dx, Tensor::zeros({3})),
                        "check_gradient: cotangent has shape [3], expected [4]");
    REQUIRE_THROWS_WITH(check_gradient(constant, x, Tensor::zeros({2, 2}), c),
                        "check_gradient: dx has shape [2, 2], expected [4]");

    // softmax does not change when all scores of a row grow alike: that derivative is zero
    Tensor shift = Tensor::zeros({1});
    const Tensor scores = draw({3, 5}), cotangent = draw({3, 5});
    const auto shifted = [&] {
        Tensor moved = scores.clone();
        vector(moved).array() += shift(0);
        return softmax_rows(moved);
    };
    if constexpr (in_double)
        REQUIRE(check_gradient(shifted, shift, Tensor::zeros({1}), cotangent).relative < 1e-6);
}

TEST_CASE("a cotangent of ones does not see a reshape where a transpose belongs") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), ones = Tensor::full({7, 3}, 1), drawn = draw({7, 3});
    const auto right = [&](const Tensor& dy) { return matmul(dy, x, {.transpose_a = true}); };
    const auto wrong = [&](const Tensor& dy) { return matmul(dy.reshape({3, 7}), x); };
    const double small = in_double ? 1e-6 : 1e-2;
    REQUIRE(weight_error(map, x, right(ones), ones) < small);
    REQUIRE(weight_error(map, x, right(drawn), drawn) < small);
    REQUIRE(weight_error(map, x, wrong(ones), ones) < small);
    REQUIRE(weight_error(map, x, wrong(drawn), drawn) > 0.5);
}

TEST_CASE("a cotangent of ones does not see a softmax gradient without its factor w") {
    if constexpr (in_double) {
        Draw draw;
        const Tensor x = draw({3, 5}), w = softmax_rows(x);
        const auto error = [&](const Tensor& dw, bool with_factor) {
            Tensor dx(x.shape());  // dx = w (dw - <dw, w>), row by row
            for (Index r = 0; r < 3; ++r) {
                const double mean = matrix(dw).row(r).dot(matrix(w).row(r));
                for (Index j = 0; j < 5; ++j)
                    dx(r, j) = static_cast<Real>(static_cast<double>(with_factor ? w(r, j) : 1) *
                                                 (static_cast<double>(dw(r, j)) - mean));
            }
            return check_gradient([&] { return softmax_rows(x); }, x, dx, dw).relative;
        };
        const Tensor ones = Tensor::full({3, 5}, 1), drawn = draw({3, 5});
        REQUIRE(error(ones, true) < 1e-6);
        REQUIRE(error(ones, false) < 1e-6);
        REQUIRE(error(drawn, true) < 1e-6);
        REQUIRE(error(drawn, false) > 0.5);
    }
}

TEST_CASE("a right gradient passes the check in double and fails it in float") {
    Draw draw;
    Linear map(5, 3, true, draw.random);
    const Tensor x = draw({7, 5}), dy = draw({7, 3});
    const Tensor dW = matmul(dy, x, {.transpose_a = true});
    const double error =
        check_gradient([&] { return map.forward(x); }, map.weight.value, dW, dy, 1e-5).relative;
    if constexpr (in_double)
        REQUIRE(error < 1e-6);
    else
        REQUIRE(error > 1e-3);
}
