// Per real and way: dropout.
#include "chapters/02_positional_encoding/dropout.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include "tests/gradients.hpp"
#include "tests/proof/operations.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

TEST_CASE("the article's dropout sample comes back from its mask, negative zero included") {
    const double printed_by_article[20] = {0.0000,  -0.5856, -1.4094, 0.0000,  -1.0290,  //
                                           2.0591,  -1.3400, -1.7247, -0.9885, 0.1286,   //
                                           0.5099,  1.3715,  0.0000,  2.2079,  -0.5497,  //
                                           -0.0000, -0.7839, -1.2434, -0.1222, 1.2815};
    Random random(1);
    const Dropout dropout(Real(0.2), random);
    Tensor x({4, 5});
    Dropout::Cache cache{way(), Mask({4, 5})};
    for (Index i = 0; i < 20; ++i) {
        const double y = printed_by_article[i];
        cache.kept.data()[i] = y != 0;
        x.data()[i] = static_cast<Real>(y != 0 ? 0.8 * y : std::copysign(1.0, y));
    }
    const Tensor y = dropout.backward(x, cache);  // multiplies by kept / (1 - p), as forward does
    std::string text;
    for (Index i = 0; i < 20; ++i)
        text += fmt::format("{:.4f}{}", y.data()[i], i == 19 ? "" : i % 5 == 4 ? " / " : " ");
    CHECK(text ==
          "0.0000 -0.5856 -1.4094 0.0000 -1.0290 / 2.0591 -1.3400 -1.7247 -0.9885 0.1286 / "
          "0.5099 1.3715 0.0000 2.2079 -0.5497 / -0.0000 -0.7839 -1.2434 -0.1222 1.2815");
}

TEST_CASE("dropout sets a share p to zero and divides the others by 1 - p") {
    for (double p : {0.1, 0.2, 0.5}) {
        Random random(3);
        const Dropout dropout(static_cast<Real>(p), random);
        const Tensor x = random_tensor({100, 100});
        Dropout::Cache cache;
        const Tensor y = dropout.forward(x, &cache);
        const Real factor = 1 / (1 - static_cast<Real>(p));
        Index dropped = 0;
        for (Index i = 0; i < x.size(); ++i) {
            const Real kept = x.data()[i] * factor;
            const bool zero = cache.kept.data()[i] == 0;
            dropped += zero;
            CHECK(y.data()[i] == (zero ? 0 : kept));
            if (zero) CHECK(std::signbit(y.data()[i]) == std::signbit(x.data()[i]));
        }
        // binomial of 10000: four standard deviations
        const double share = static_cast<double>(dropped) / 10000;
        CHECK(std::abs(share - p) < 4 * std::sqrt(p * (1 - p) / 10000));
    }
}

TEST_CASE("dropout with p 1/2 doubles what it keeps, and passes gradients where it kept") {
    Random random(3);
    const Dropout dropout(Real(0.5), random);
    Dropout::Cache cache;
    const Tensor x({4}, {1, 2, 3, 4}), dy({4}, {5, 6, 7, 8});
    dropout.forward(x, &cache);
    cache.kept = Mask({4}, {1, 0, 0, 1});
    const Tensor dx = dropout.backward(dy, cache);
    const Tensor y = dropout.backward(x, cache);  // the same map
    const Real expected_dx[4] = {10, 0, 0, 16}, expected_y[4] = {2, 0, 0, 8};
    for (Index i = 0; i < 4; ++i) {
        CHECK(dx(i) == expected_dx[i]);
        CHECK(y(i) == expected_y[i]);
    }
}

TEST_CASE("dropout does nothing at inference, nor with p = 0") {
    Random random(3);
    const Dropout dropout(Real(0.5), random), none(0, random);
    const Tensor x = random_tensor({3, 5});
    CHECK(same_bits(dropout.forward(x), x));
    Dropout::Cache cache;
    cache.kept = Mask::zeros({3, 5});  // of an earlier use: must not be believed
    CHECK(same_bits(none.forward(x, &cache), x));
    CHECK(same_bits(none.backward(x, cache), x));
}

TEST_CASE("every training step and every layer drops other elements") {
    Random random(3);
    const Dropout first(Real(0.5), random), second(Real(0.5), random);
    const Tensor x = Tensor::full({8, 8}, 1);
    Dropout::Cache a, b, c, again;
    first.forward(x, &a);
    second.forward(x, &b);
    first.forward(x, &again);
    random.next_step();
    first.forward(x, &c);
    CHECK(same_bits(a.kept, again.kept));
    CHECK_FALSE(same_bits(a.kept, b.kept));
    CHECK_FALSE(same_bits(a.kept, c.kept));
}

TEST_CASE("the gradient of dropout equals central differences") {
    check_trial(proof::dropout);
}

TEST_CASE("dropout refuses a p below 0, of 1 or above, and no number") {
    Random random(1);
    CHECK_THROWS_WITH(Dropout(1, random), "dropout: p is 1, expected 0 <= p < 1");
    CHECK_THROWS_WITH(Dropout(Real(-0.5), random), "dropout: p is -0.5, expected 0 <= p < 1");
    CHECK_THROWS_AS(Dropout(std::numeric_limits<Real>::quiet_NaN(), random), std::invalid_argument);
    Dropout::Cache cache;
    const Dropout dropout(Real(0.5), random);
    dropout.forward(Tensor::zeros({2, 3}), &cache);
    CHECK_THROWS_WITH(dropout.backward(Tensor::zeros({3, 2}), cache),
                      Contains("dropout backward") && Contains("[3, 2]") && Contains("[2, 3]"));
}

TEST_CASE("dropout keeps the same elements in every way, and scales them to the same bits") {
    for (Index n : {0, 1, 3, 31, 33, 127, 128, 129, 257, 1023, 5000})
        for (double p : {0.1, 0.5}) {
            CAPTURE(n, p);
            Random random(0x123456789abcdefu);  // both words of the key
            const Dropout other(static_cast<Real>(p), random),
                dropout(static_cast<Real>(p), random);  // stream 1
            random.next_step();
            const Tensor x = random_tensor({n}, 2), dy = random_tensor({n}, 3);
            const auto drop = [&](Way way) {
                const ScopedWay scoped(way);
                Dropout::Cache cache;
                const Tensor y = dropout.forward(x, &cache);
                return std::tuple(cache.kept, y, dropout.backward(dy, cache));
            };
            const auto [kept, y, dx] = drop(Way::plain);
            for (const Way way : ways_here()) {
                INFO("way " << to_string(way));
                const auto [own_kept, own_y, own_dx] = drop(way);
                CHECK(same_bits(own_kept, kept));
                CHECK(same_bits(own_y, y));
                CHECK(same_bits(own_dx, dx));
            }
        }
}
