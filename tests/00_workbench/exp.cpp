// Per real: exponentials, many at a time.
#include "lib/fast/exp.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support.hpp"

using namespace abh;

namespace {

/// `exp(x)`, more exact than `Real` holds.
long double true_exp(Real x) {
    return std::exp(static_cast<long double>(x));
}

constexpr Real smallest = std::numeric_limits<Real>::min();

/// Numbers from `low` to 0, closely spaced.
std::vector<Real> exponents(double low, Index n) {
    std::vector<Real> x;
    for (Index i = 0; i <= n; ++i)
        x.push_back(static_cast<Real>(low * static_cast<double>(i) / static_cast<double>(n)));
    return x;
}

constexpr double lowest = in_double ? -760 : -110;

}  // namespace

TEST_CASE("exponentials are within their bound where they are normal numbers, and 0 below",
          "[fast]") {
    std::fesetenv(
        FE_DFL_ENV);  // programs, which other tests run, take smaller numbers for 0 anyway
    // 7 numbers at a time too: the last ones of a call are computed one by one
    const std::vector<Real> x = exponents(lowest, 1 << 20);
    std::vector<Real> y(x.size()), in_sevens(x.size());
    exp_and_sum(x.data(), 0, y.data(), static_cast<Index>(x.size()));
    for (std::size_t i = 0; i < x.size(); i += 7)
        exp_and_sum(&x[i], 0, &in_sevens[i],
                    static_cast<Index>(std::min<std::size_t>(7, x.size() - i)));
    const long double error = static_cast<long double>(exp_error);
    Index wrong = 0, zeros = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double exact = true_exp(x[i]);
        for (const Real single : {y[i], in_sevens[i]}) {
            const bool within = std::abs(static_cast<long double>(single) - exact) <= error * exact;
            // at the border the computed one may be the other side's
            if (exact * (1 - error) >= static_cast<long double>(smallest))
                wrong += !within;
            else if (exact * (1 + error) < static_cast<long double>(smallest))
                wrong += single != 0;
            else
                wrong += !within && single != 0;
            zeros += single == 0;
        }
    }
    CHECK(wrong == 0);
    CHECK(zeros > 1000);  // both sides of the border were seen
    CHECK(y[0] == 1);
}

TEST_CASE("the sum of exponentials is theirs, and grows with each", "[fast]") {
    const std::vector<Real> x = exponents(-20, 2000);
    std::vector<Real> y(x.size());
    Real before = 0;
    for (Index n = 0; n <= 2000; n += n < 40 ? 1 : 131) {
        std::fill(y.begin(), y.end(), Real(-1));
        const Real sum = exp_and_sum(x.data(), 0, y.data(), n);
        double exact = 0;
        for (Index i = 0; i < n; ++i) exact += static_cast<double>(y[static_cast<std::size_t>(i)]);
        CAPTURE(n);
        // terms of one sign: each of n additions is rounded by an epsilon of the sum at most
        REQUIRE(std::abs(static_cast<double>(sum) - exact) <=
                static_cast<double>(n) * static_cast<double>(std::numeric_limits<Real>::epsilon()) *
                    exact);
        REQUIRE((n == 0 ? sum == 0 : sum > before));
        REQUIRE(y[static_cast<std::size_t>(n)] == -1);  // no more than was asked for
        before = sum;
    }
}

TEST_CASE("exponentials are shifted, and may take their arguments' place", "[fast]") {
    const Tensor x = random_tensor({1300});
    const Real shift = *std::max_element(x.values().begin(), x.values().end());
    Tensor y(x.shape()), moved = x.clone(), place = x.clone();
    for (Real& v : moved.values()) v -= shift;
    Tensor z(x.shape());
    const Real sum = exp_and_sum(x.data(), shift, y.data(), x.size());
    CHECK(exp_and_sum(moved.data(), 0, z.data(), x.size()) == sum);
    CHECK(same_bits(y, z));
    CHECK(exp_and_sum(place.data(), shift, place.data(), x.size()) == sum);
    CHECK(same_bits(y, place));
}

TEST_CASE("the exponential of minus infinity is 0, and of what is not a number is not one",
          "[fast]") {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    for (Index n : {1, 3, 16, 33}) {
        std::vector<Real> x(static_cast<std::size_t>(n), -infinity), y = x;
        CHECK(exp_and_sum(x.data(), 0, y.data(), n) == 0);
        CHECK(std::count(y.begin(), y.end(), Real(0)) == n);
        x.back() = std::numeric_limits<Real>::quiet_NaN();
        CHECK(std::isnan(exp_and_sum(x.data(), 0, y.data(), n)));
        CHECK(std::isnan(y.back()));
    }
}
