// Per real and way: softmax and attention, forward and backward.
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "lib/matmul.hpp"
#include "lib/random.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/operations.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();
/// Round-off of some dozen operations on numbers of order one.
constexpr double rounding = in_double ? 1e-14 : 2e-6;

/// Queries, keys, values and the gradient of the result, of odd sizes.
struct Example {
    Tensor q, k, v, dy;

    explicit Example(std::uint64_t seed = 1, Index batch = 2, Index heads = 3, Index n_q = 5,
                     Index n_k = 7, Index d_k = 3, Index d_v = 4) {
        Random random(seed);
        q = normal({batch, heads, n_q, d_k}, random.stream());
        k = normal({batch, heads, n_k, d_k}, random.stream());
        v = normal({batch, heads, n_k, d_v}, random.stream());
        dy = normal({batch, heads, n_q, d_v}, random.stream());
    }

    Tensor forward(const Mask& mask, const AttentionOptions& options = {}) const {
        return attention(q, k, v, mask, options);
    }
    /// The result, the weights and the three gradients.
    std::vector<Tensor> run(const Mask& mask, const AttentionOptions& options = {}) const {
        AttentionCache cache;
        Tensor weights;
        const Tensor y = attention(q, k, v, mask, options, &cache, &weights);
        const AttentionGradients d = attention_backward(dy, cache);
        return {y, weights, d.dq, d.dk, d.dv};
    }
    void differences(const Mask& mask, const AttentionOptions& options = {}) const {
        check_trial(proof::attention_of(
            q, k, v, [=] { return mask; }, options));
    }
};

/// A mask [2, 3, 5, 7] in which every row keeps at least one key.
Mask uneven_mask() {
    Random random(7);
    const Ids drawn = random_ids({2, 3, 5, 7}, 0, 2, random.stream());
    Mask mask(drawn.shape());
    std::copy(drawn.values().begin(), drawn.values().end(), mask.data());
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h)
            for (Index i = 0; i < 5; ++i) mask(b, h, i, (b + h + i) % 7) = 0;
    return mask;
}

/// Hides a key with probability 0.4.
Mask drawn_mask(const Shape& shape) {
    Random random(8);
    const Tensor u = uniform(shape, 0, 1, random.stream());
    Mask mask(shape);
    for (Index i = 0; i < u.size(); ++i) mask.data()[i] = u.data()[i] < Real(0.4);
    return mask;
}

/// Calls `f` with a mask of each pattern of sizes: 1, or that of the scores.
template <class F>
void for_masks(const Shape& scores, const F& f) {
    for (int pattern = 0; pattern < 16; ++pattern) {
        Shape shape = scores;
        for (int axis = 0; axis < 4; ++axis)
            if ((pattern >> axis & 1) == 0) shape = shape.with(axis, 1);
        CAPTURE(shape);
        f(drawn_mask(shape));
    }
}

}  // namespace

TEST_CASE("softmax of scores of ten thousand is that of the same scores near zero") {
    for (Real offset : {Real(1e4), Real(-1e4)}) {
        const Tensor y = softmax(Tensor({3}, {offset, offset - 1, offset - 2}));
        REQUIRE(same_bits(y, softmax(Tensor({3}, {0, -1, -2}))));
    }
    REQUIRE(std::isinf(std::exp(Real(1e4))));  // what it would need without the maximum
}

TEST_CASE("softmax of one score is one, and of no score is an error") {
    REQUIRE(softmax(Tensor({1}, {-3}))(0) == 1);
    REQUIRE_THROWS_WITH(softmax(Tensor({2, 0})), Contains("softmax") && Contains("[2, 0]"));
    REQUIRE_THROWS_AS(softmax(Tensor(Shape{})), std::invalid_argument);
}

TEST_CASE("the gradient of softmax agrees with differences") {
    check_trial(proof::of_result(softmax, softmax_backward));
}

TEST_CASE("the gradient of a softmax row sums to zero, as a constant added to it changes nothing") {
    Random random(3);
    const Tensor y = softmax(normal({4, 9}, random.stream()));
    const Tensor dx = softmax_backward(normal({4, 9}, random.stream()), y);
    for (Index i = 0; i < 4; ++i) {
        double sum = 0;
        for (Index j = 0; j < 9; ++j) sum += static_cast<double>(dx(i, j));
        REQUIRE(std::abs(sum) < rounding);
    }
    REQUIRE_THROWS_WITH(softmax_backward(Tensor({4, 8}), y), Contains("[4, 8]"));
}

TEST_CASE("the score table gives robot 100 percent, then 42 to robot and 57 to must") {
    const Tensor q({1, 1, 2, 1}, {1, 1}), k({1, 1, 2, 1}, {Real(0.19), Real(0.5)});
    Tensor w;
    attention(q, k, k, over_heads(look_ahead_mask(Ids::zeros({1, 2}))), {}, nullptr, &w);
    REQUIRE(w(0, 0, 0, 0) == 1);
    REQUIRE(w(0, 0, 0, 1) == 0);
    REQUIRE(std::floor(100 * w(0, 0, 1, 0)) == 42);
    REQUIRE(std::floor(100 * w(0, 0, 1, 1)) == 57);
}

TEST_CASE("what a hidden key and its value hold changes no bit of the result") {
    Example e;
    Mask mask = Mask::zeros({2, 1, 1, 7});
    for (Index j : {2, 6}) mask(0, 0, 0, j) = mask(1, 0, 0, j) = 1;
    const Tensor before = attention(e.q, e.k, e.v, mask);
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h)
            for (Index j : {2, 6}) {
                for (Index d = 0; d < 3; ++d) e.k(b, h, j, d) = Real(1000);
                for (Index d = 0; d < 4; ++d) e.v(b, h, j, d) = Real(-1000);
            }
    REQUIRE(same_bits(attention(e.q, e.k, e.v, mask), before));
}

TEST_CASE("a fill before the scale is scaled like a score") {
    // one visible score 0 and one hidden: the hidden weight is exp(f) / (1 + exp(f))
    const Tensor q = Tensor::zeros({1, 1, 1, 4}), k = Tensor::zeros({1, 1, 2, 4});
    const Mask mask({1, 1, 1, 2}, {0, 1});
    const auto hidden = [&](FillPlace place) {
        Tensor w;
        attention(q, k, k, mask, {.fill = Real(-6), .fill_place = place}, nullptr, &w);
        return static_cast<double>(w(0, 0, 0, 1));
    };
    REQUIRE(std::abs(hidden(FillPlace::after_scale) - 1 / (1 + std::exp(6.0))) < rounding);
    REQUIRE(std::abs(hidden(FillPlace::before_scale) - 1 / (1 + std::exp(3.0))) < rounding);
}

TEST_CASE("a mask that keeps, inverted, hides") {
    const Example e;
    const Mask mask = uneven_mask();
    const Mask keep = invert(mask);
    REQUIRE(same_bits(attention(e.q, e.k, e.v, invert(keep)), attention(e.q, e.k, e.v, mask)));
    REQUIRE_FALSE(same_bits(attention(e.q, e.k, e.v, keep), attention(e.q, e.k, e.v, mask)));
}

TEST_CASE("wrong shapes are refused, with the values in the message") {
    struct Case {
        Shape q, k, v;
        const char* message;
    };
    for (const Case& c : std::vector<Case>{
             {{1, 1, 2, 64}, {1, 1, 2, 32}, {1, 1, 2, 4}, "key has d_k 32, query has 64"},
             {{1, 1, 2, 4}, {1, 1, 5, 4}, {1, 1, 6, 4}, "[1, 1, 5, 4], value [1, 1, 6, 4]"},
             {{1, 8, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}, "heads differ"},
             {{2, 1, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}, "batch"},
             {{2, 2, 4}, {2, 2, 4}, {2, 2, 4}, "four axes"},
             {{1, 1, 2, 4}, {1, 1, 0, 4}, {1, 1, 0, 4}, "[1, 1, 0, 4]"},
             {{1, 1, 2, 0}, {1, 1, 2, 0}, {1, 1, 2, 4}, "[1, 1, 2, 0]"}})
        REQUIRE_THROWS_WITH(
            attention(Tensor::zeros(c.q), Tensor::zeros(c.k), Tensor::zeros(c.v), {}),
            Contains("attention: ") && Contains(c.message));
    // as many sentences as heads: it would fit
    REQUIRE_THROWS_WITH(attention(Tensor::zeros({2, 2, 3, 3}), Tensor::zeros({2, 2, 3, 3}),
                                  Tensor::zeros({2, 2, 3, 3}), Mask::zeros({2, 3, 3})),
                        Contains("insert an axis for the heads"));
    const Example e;
    AttentionCache cache;
    attention(e.q, e.k, e.v, {}, {}, &cache);
    REQUIRE_THROWS_WITH(attention_backward(e.q, cache),
                        Contains("attention backward") && Contains("[2, 3, 5, 4]"));
}

TEST_CASE("a query with every key hidden gets the plain mean of the values") {
    const Example e;
    Mask mask = Mask::zeros({1, 1, 5, 7});
    for (Index j = 0; j < 7; ++j) mask(0, 0, 2, j) = 1;
    Tensor w;
    const Tensor y = attention(e.q, e.k, e.v, mask, {}, nullptr, &w);
    for (Index c = 0; c < 4; ++c) {
        double mean = 0;
        for (Index j = 0; j < 7; ++j) mean += static_cast<double>(e.v(1, 2, j, c)) / 7;
        REQUIRE(std::abs(static_cast<double>(y(1, 2, 2, c)) - mean) < rounding);
    }
    for (Index j = 0; j < 7; ++j) REQUIRE(w(0, 1, 2, j) == w(0, 1, 2, 0));
}

TEST_CASE("a fill of minus infinity turns a row with every key hidden into NaN, and no other") {
    const Example e;
    Mask mask = Mask::zeros({1, 1, 5, 7});
    for (Index j = 0; j < 7; ++j) mask(0, 0, 2, j) = 1;
    const Tensor y = attention(e.q, e.k, e.v, mask, {.fill = -infinity});
    for (Index i = 0; i < 5; ++i)
        for (Index c = 0; c < 4; ++c) REQUIRE(std::isnan(y(1, 2, i, c)) == (i == 2));
}

TEST_CASE("the gradients of attention agree with differences") {
    const Example e;
    Mask nothing = uneven_mask();  // to be seen by one query
    for (Index j = 0; j < 7; ++j) nothing(1, 2, 3, j) = 1;
    e.differences(nothing);
    e.differences(uneven_mask(), {.fill = Real(-1)});  // hidden weights that are not zero
    Example(6, 1, 1, 1, 1).differences({});
    Example(7, 1, 2, 4, 4).differences({});  // as many queries as keys
    e.differences({});
    e.differences(uneven_mask());
    e.differences(invert(uneven_mask()));
    e.differences(uneven_mask(), {.scale = Real(0.3), .fill_place = FillPlace::before_scale});
}

TEST_CASE("the worked gradient of attention is what backward computes") {
    // scores ln 3 and 0, and a hidden key: weights 3/4, 1/4 and 0
    const Real ln3 = std::log(Real(3));
    const Tensor q({1, 1, 1, 4}, {2, 0, 0, 0}), v({1, 1, 3, 1}, {4, 0, 7}), dy({1, 1, 1, 1}, {1});
    const Tensor k({1, 1, 3, 4}, {ln3, 0, 0, 0,  //
                                  0, 0, 0, 0,    //
                                  5, 0, 0, 0});
    AttentionCache cache;
    const Tensor y = attention(q, k, v, Mask({1, 1, 1, 3}, {0, 0, 1}), {}, &cache);
    const Tensor dw = matmul(dy, v, {.transpose_b = true});
    const AttentionGradients d = attention_backward(dy, cache);
    const auto is = [](const Tensor& found, std::initializer_list<Real> by_hand) {
        REQUIRE(max_difference(found, Tensor(found.shape(), by_hand)) < rounding);
    };
    const Real quarter = Real(0.25);
    is(cache.weights, {3 * quarter, quarter, 0});
    is(y, {3});
    is(dw, {4, 0, 7});
    is(softmax_backward(dw, cache.weights), {3 * quarter, -3 * quarter, 0});
    is(d.dv, {3 * quarter, quarter, 0});
    is(d.dq, {ln3 * 3 / 8, 0, 0, 0});
    is(d.dk, {3 * quarter, 0, 0, 0, -3 * quarter, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("a key that is hidden from every query gets no gradient, nor does its value") {
    const Example e;
    Mask mask = Mask::zeros({1, 1, 1, 7});
    mask(0, 0, 0, 4) = 1;
    const std::vector<Tensor> all = e.run(mask);
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h) {
            for (Index c = 0; c < 3; ++c) REQUIRE(all[3](b, h, 4, c) == 0);
            for (Index c = 0; c < 4; ++c) REQUIRE(all[4](b, h, 4, c) == 0);
            REQUIRE(all[4](b, h, 3, 0) != 0);
        }
}

TEST_CASE("a cache does not change the result of attention") {
    const Example e;
    AttentionCache cache;
    const Tensor y = attention(e.q, e.k, e.v, uneven_mask(), {}, &cache);
    REQUIRE(same_bits(y, e.forward(uneven_mask())));
}

TEST_CASE("the number of threads does not change a bit") {
    const Example e(13, 3, 5, 37, 41, 17, 19);  // more than one block of softmax rows
    same_for_threads([&] { return e.run({}); });
}

TEST_CASE("every way has plain's softmax and its gradient, for rows of all lengths") {
    const auto compare = [](const Shape& shape) {
        CAPTURE(to_string(shape));
        const Tensor x = random_tensor(shape, 1), dy = random_tensor(shape, 2);
        same_in_every_way([&] {
            const Tensor y = softmax(x);
            return std::vector<Tensor>{y, softmax_backward(dy, y)};
        });
    };
    // around whole vectors, and around the lengths at which a device takes another kernel
    for (Index n :
         {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 513, 1024, 1025, 2500})
        for (Index n_rows : {1, 37}) compare({n_rows, n});
    compare({0, 7});
}

TEST_CASE("every way has plain's softmax of large, hidden and missing scores") {
    for (Index n : {5, 70, 1500}) {
        CAPTURE(n);
        Tensor x = random_tensor({6, n}, 3);
        for (Index j = 0; j < n; ++j) {
            x(0, j) = Real(1e4) - static_cast<Real>(j);      // overflows without the maximum
            x(1, j) = j == n / 2 ? Real(2) : Real(-1e9);     // all but one hidden
            x(2, j) = Real(-1e9);                            // all hidden, by a number
            x(3, j) = j % 2 == 0 ? -infinity : Real(j % 3);  // hidden by -infinity
            x(4, j) = static_cast<Real>(-j) * 3;             // weights below the smallest number
            x(5, j) = -infinity;                             // all hidden
        }
        same_in_every_way([&] { return std::vector<Tensor>{softmax(x)}; });
        const Tensor y = softmax(x);
        for (Index j = 0; j < n; ++j) {
            CHECK(y(1, j) == (j == n / 2 ? 1 : 0));
            CHECK((y(3, j) == 0) == (j % 2 == 0));
            CHECK((y(4, j) == 0 || y(4, j) >= std::numeric_limits<Real>::min()));
            CHECK(std::isnan(y(5, j)));
        }
    }
}

TEST_CASE("every way fills the scores that a mask of any shape hides, and no other") {
    const Tensor scores = random_tensor({2, 3, 5, 37}, 4);
    for_masks(scores.shape(), [&](const Mask& mask) {
        const auto fill = [&] {
            Tensor filled = scores.clone();
            masked_fill(filled, mask, -7);
            return std::vector<Tensor>{filled};
        };
        same_in_every_way(fill, 0);
        const Tensor filled = fill()[0];
        const auto at = [&](int axis, Index i) { return mask.dim(axis) == 1 ? 0 : i; };
        const Index b = 1, h = 2, i = 3;
        for (Index j = 0; j < 37; ++j)
            CHECK(filled(b, h, i, j) ==
                  (mask(at(0, b), at(1, h), at(2, i), at(3, j)) ? Real(-7) : scores(b, h, i, j)));
    });
}

TEST_CASE("every way has plain's attention, weights and gradients, for every mask and fill") {
    const auto compare = [](const Example& e, const Mask& mask, const AttentionOptions& o = {}) {
        same_in_every_way([&] { return e.run(mask, o); });
    };
    const Example e(4, 2, 3, 5, 37, 9, 4);
    compare(e, {});
    for_masks({2, 3, 5, 37}, [&](const Mask& mask) { compare(e, mask); });
    const Mask mask = drawn_mask({2, 1, 5, 37});
    compare(e, mask, {.scale = Real(0.7), .fill = -2});  // hidden weights that are not zero
    compare(e, mask, {.scale = Real(0.7), .fill = -2, .fill_place = FillPlace::before_scale});
    compare(e, Mask::full({1, 1, 1, 1}, 1));  // all keys of all queries
    for (Index d_k : {1, 16, 130}) compare(Example(5, 1, 2, 3, 4, d_k, d_k), {});
    compare(Example(6, 1, 1, 1, 1, 1, 1), {});
}
