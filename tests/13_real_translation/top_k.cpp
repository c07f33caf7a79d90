// Per way: the likeliest words.
#include "chapters/13_real_translation/search/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

TEST_CASE("the likeliest words are those of softmax, in order") {
    Random random(4);
    const Tensor logits = normal({3, 1, 300}, random.stream());
    const Ids never({3}, {0, 17, 299});
    const Tensor p = softmax(logits.reshape({3, 300}));
    const BasicTensor<Choice> found = top_k(logits, 20, never);
    for (Index r = 0; r < 3; ++r) {
        std::vector<std::int32_t> words;
        for (std::int32_t w = 0; w < 300; ++w)
            if (w != 0 && w != 17 && w != 299) words.push_back(w);
        std::ranges::sort(words, std::greater(), [&](std::int32_t w) { return p(r, w); });
        for (Index i = 0; i < 20; ++i) {
            const std::int32_t w = words[static_cast<std::size_t>(i)];
            REQUIRE(found(r, i).word == w);
            CHECK(static_cast<double>(found(r, i).log_probability) ==
                  Approx(std::log(static_cast<double>(p(r, w)))).epsilon(in_double ? 1e-12 : 1e-5));
        }
    }
}

TEST_CASE("every way finds plain's likeliest words, of equal ones the first") {
    for (const Index n_words : {1, 5, 33, 127, 128, 129, 1000})
        for (const Index n : {Index{1}, Index{4}, Index{9}, n_words}) {
            const std::int32_t left_out = n_words > 4 ? 2 : 0;
            if (n > n_words - left_out || (n > 100 && emulated())) continue;
            CAPTURE(n_words, n);
            Ids never({left_out});
            if (left_out) never = Ids({2}, {1, static_cast<std::int32_t>(n_words) - 1});
            Tensor logits =
                normal({4, 1, n_words}, Random(static_cast<std::uint64_t>(n_words)).stream());
            for (Index w = 0; w < n_words; ++w) {
                logits(1, 0, w) = 3;                                // all are equal
                logits(2, 0, w) = std::round(2 * logits(2, 0, w));  // many are
                logits(3, 0, w) =
                    w % 3 == 0 ? logits(3, 0, w) : -std::numeric_limits<Real>::infinity();
            }
            const BasicTensor<Choice> expected = [&] {
                const ScopedWay plain(Way::plain);
                return top_k(logits, n, never);
            }();
            const BasicTensor<Choice> found = top_k(logits, n, never);
            REQUIRE(found.shape() == Shape{4, n});
            for (Index r = 0; r < 4; ++r)
                for (Index i = 0; i < n; ++i) {
                    REQUIRE(found(r, i).word == expected(r, i).word);
                    const Real a = found(r, i).log_probability, b = expected(r, i).log_probability;
                    REQUIRE(
                        (a == b || std::abs(a - b) < way_bound * std::max<Real>(1, std::abs(b))));
                }
        }
}

TEST_CASE("the likeliest words refuse what does not fit, and name the values") {
    const Tensor logits = Tensor::zeros({2, 1, 5});
    CHECK_THROWS_WITH(top_k(Tensor::zeros({2, 5}), 1), Contains("[2, 5]"));
    CHECK_THROWS_WITH(top_k(Tensor::zeros({2, 2, 5}), 1), Contains("[2, 2, 5]"));
    CHECK_THROWS_WITH(top_k(logits, 0), Contains("0 words of 5"));
    CHECK_THROWS_WITH(top_k(logits, 6), Contains("6 words of 5"));
    CHECK_THROWS_WITH(top_k(logits, 4, Ids({2}, {1, 2})), Contains("4 words of 5, of which 2"));
    CHECK_THROWS_WITH(top_k(logits, 1, Ids({1}, {5})), Contains("5 follows -1"));
    CHECK_THROWS_WITH(top_k(logits, 1, Ids({2}, {3, 3})), Contains("3 follows 3"));
    CHECK_THROWS_WITH(top_k(logits, 1, Ids({1}, {-1})), Contains("-1 follows"));
}
