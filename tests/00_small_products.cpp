// Products in a core's cache, and exponentials many at a time.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/exp.hpp"
#include "lib/linear.hpp"
#include "lib/small_matmul.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// Whole numbers from -4 to 4: sums of a few hundred products of two are exact in any order.
std::vector<Real> whole_numbers(Index n, std::uint64_t seed) {
    Random random(seed);
    const Ids ids = random_ids({n}, -4, 5, random.stream());
    return {ids.values().begin(), ids.values().end()};
}

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

// Small product ------------------------------------------------------------

TEST_CASE("whole_lanes rounds up") {
    CHECK(whole_lanes(0) == 0);
    CHECK(whole_lanes(1) == lanes);
    CHECK(whole_lanes(lanes) == lanes);
    CHECK(whole_lanes(lanes + 1) == 2 * lanes);
}

TEST_CASE("a small product is three loops, and touches nothing beside it") {
    for (Index m : {0, 1, 5, 6, 7, 12, 23})
        for (Index n : {lanes, 2 * lanes, 3 * lanes, 5 * lanes})
            for (Index k : {0, 1, 3, 67})
                for (bool transposed : {false, true})
                    for (bool add : {false, true})
                        for (Index gap : {0, 5}) {  // between the rows of a, b and c
                            const Index width_a = (transposed ? m : k) + gap, width = n + gap;
                            const std::vector<Real> a = whole_numbers((m + k) * (m + k + gap), 1);
                            const std::vector<Real> b = whole_numbers((k + 1) * width, 2);
                            const std::vector<Real> before = whole_numbers((m + 1) * width, 3);
                            std::vector<Real> c = before;
                            const Strided rows{a.data(), width_a, 1};
                            const Strided from = transposed ? rows.transposed() : rows;
                            small_matmul(c.data(), width, from, b.data(), width, m, n, k, add);
                            std::vector<Real> expected = before;
                            for (Index i = 0; i < m; ++i)
                                for (Index j = 0; j < n; ++j) {
                                    Real sum = add ? before[static_cast<std::size_t>(i * width + j)]
                                                   : Real(0);
                                    for (Index p = 0; p < k; ++p)
                                        sum +=
                                            a[static_cast<std::size_t>(
                                                transposed ? p * width_a + i : i * width_a + p)] *
                                            b[static_cast<std::size_t>(p * width + j)];
                                    expected[static_cast<std::size_t>(i * width + j)] = sum;
                                }
                            CAPTURE(m, n, k, transposed, add, gap);
                            REQUIRE(c == expected);
                        }
}

// Exponentials ------------------------------------------------------------

TEST_CASE("exponentials are within their bound where they are normal numbers, and 0 below") {
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

TEST_CASE("the sum of exponentials is theirs, and grows with each") {
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

TEST_CASE("exponentials are shifted, and may take their arguments' place") {
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

TEST_CASE("the exponential of minus infinity is 0, and of what is not a number is not one") {
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

// Bias and ReLU in one pass ------------------------------------------------------------

TEST_CASE("a linear map with relu is the map, then the larger of its result and zero, bit by bit") {
    for (bool bias : {false, true})
        for (Index n_rows : {1, 31, 33, 100})
            for_threads([&](int) {
                Random random(5);
                Linear map(7, 19, bias, random);
                const Tensor x = normal({n_rows, 1, 7}, random.stream());
                Linear::Cache cache;
                Tensor expected = map.forward(x);
                Index negative = 0;
                for (Real& v : expected.values())
                    if (v < 0) {
                        v = 0;
                        ++negative;
                    }
                REQUIRE(negative > 0);
                const Tensor y = map.forward_relu(x, &cache);
                REQUIRE(same_bits(y, expected));
                REQUIRE(same_bits(map.forward_relu(x), expected));
                REQUIRE(cache.x.data() == x.data());
            });
}
