// Once: which words may be drawn, and how often they are.
#include "chapters/15_language_model/sampling.hpp"

#include <cmath>
#include <numeric>

#include "tests/support.hpp"

using namespace abh;

namespace {

/// Logits whose probabilities are 0.5, 0.25, 0.15 and 0.1, in another order.
Tensor four() {
    return Tensor({4}, {std::log(Real(0.15)), std::log(Real(0.5)), std::log(Real(0.1)),
                        std::log(Real(0.25))});
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t j = 0; j < found.size(); ++j) CHECK(std::abs(found[j] - expected[j]) < 1e-6);
}

}  // namespace

TEST_CASE("temperature 1 keeps the softmax, 0 takes the likeliest, 1/2 squares") {
    check_near(sampling_probabilities(four()), {0.15, 0.5, 0.1, 0.25});
    check_near(sampling_probabilities(four(), {.temperature = 0}), {0, 1, 0, 0});
    const double sum = 0.0225 + 0.25 + 0.01 + 0.0625;
    check_near(sampling_probabilities(four(), {.temperature = 0.5}),
               {0.0225 / sum, 0.25 / sum, 0.01 / sum, 0.0625 / sum});
}

TEST_CASE("top-k keeps the k likeliest") {
    check_near(sampling_probabilities(four(), {.top_k = 2}), {0, 2 / 3., 0, 1 / 3.});
    check_near(sampling_probabilities(four(), {.top_k = 9}), {0.15, 0.5, 0.1, 0.25});
    check_near(sampling_probabilities(Tensor({3}, {1, 1, 1}), {.top_k = 2}), {0.5, 0.5, 0});
}

TEST_CASE("top-p keeps the smallest set that has p") {
    check_near(sampling_probabilities(four(), {.top_p = Real(0.74)}), {0, 2 / 3., 0, 1 / 3.});
    check_near(sampling_probabilities(four(), {.top_p = Real(0.76)}),
               {0.15 / 0.9, 0.5 / 0.9, 0, 0.25 / 0.9});
    check_near(sampling_probabilities(four(), {.top_p = Real(0.01)}), {0, 1, 0, 0});
    const Tensor logits = random_tensor({50});
    for (const Real top_p : {Real(0.3), Real(0.6), Real(0.9)}) {
        const auto all = sampling_probabilities(logits),
                   some = sampling_probabilities(logits, {.top_p = top_p});
        double kept = 0, least = 1;
        for (std::size_t j = 0; j < all.size(); ++j)
            if (some[j] > 0) kept += all[j], least = std::min(least, all[j]);
        CHECK(kept >= top_p);
        CHECK(kept - least < top_p);  // without its least word it would not be enough
    }
}

TEST_CASE("words are drawn as often as their probabilities say") {
    const std::vector<double> p = sampling_probabilities(four());
    constexpr Index draws = 20'000;
    std::vector<double> counts(4);
    Random random(5);
    const Tensor u = uniform({draws}, 0, 1, random.stream());
    for (Index i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(sample(p, u(i)))];
    double chi_square = 0;
    for (std::size_t j = 0; j < 4; ++j)
        chi_square += std::pow(counts[j] - draws * p[j], 2) / (draws * p[j]);
    CHECK(chi_square < 16.27);  // three degrees of freedom: exceeded once in a thousand seeds
    CHECK(sample(p, 0) == 0);
    CHECK(sample({0, 0.5, 0.5, 0}, 0.999999999) == 2);
    CHECK(sample({0.5, 0.4999, 0}, 0.99999) == 1);  // beyond the sum
}
