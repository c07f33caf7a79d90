// Per real and way: softmax and attention, forward and backward.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/device.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/random.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

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

/// The definition, element by element in double precision; a hidden key is left out of the sums.
Tensor by_definition(const Example& e, const Mask& hidden, double scale) {
    Tensor y = Tensor::zeros(e.q.shape().with(3, e.v.dim(3)));
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index h = 0; h < y.dim(1); ++h)
            for (Index i = 0; i < y.dim(2); ++i) {
                std::vector<double> w(static_cast<std::size_t>(e.k.dim(2)));
                double sum = 0;
                for (Index j = 0; j < e.k.dim(2); ++j) {
                    double score = 0;
                    for (Index d = 0; d < e.q.dim(3); ++d)
                        score += static_cast<double>(e.q(b, h, i, d)) *
                                 static_cast<double>(e.k(b, h, j, d));
                    if (hidden.empty() || !hidden(b, h, i, j))
                        sum += w[static_cast<std::size_t>(j)] = std::exp(scale * score);
                }
                for (Index c = 0; c < y.dim(3); ++c) {
                    double mean = 0;
                    for (Index j = 0; j < e.k.dim(2); ++j)
                        mean += w[static_cast<std::size_t>(j)] / sum *
                                static_cast<double>(e.v(b, h, j, c));
                    y(b, h, i, c) = static_cast<Real>(mean);
                }
            }
    return y;
}

Tensor weights_of(const Example& e, const Mask& mask, const AttentionOptions& options = {}) {
    Tensor weights;
    attention(e.q, e.k, e.v, mask, options, nullptr, &weights);
    return weights;
}

/// Checks the gradients of attention by differences; 1e-6 is what central differences with a step
/// of 1e-5 can prove in double precision.
void check_gradients(const Example& e, const Mask& mask, const AttentionOptions& options = {}) {
    if constexpr (in_double) {
        AttentionCache cache;
        attention(e.q, e.k, e.v, mask, options, &cache);
        const AttentionGradients d = attention_backward(e.dy, cache);
        const auto forward = [&] { return attention(e.q, e.k, e.v, mask, options); };
        const GradientError errors[] = {check_gradient(forward, e.q, d.dq, e.dy),
                                        check_gradient(forward, e.k, d.dk, e.dy),
                                        check_gradient(forward, e.v, d.dv, e.dy)};
        for (const GradientError& error : errors) {
            INFO(to_string(error));
            CHECK(error.relative < 1e-6);
        }
    }
}

}  // namespace

TEST_CASE("a row of softmax is positive and sums to one") {
    Random random(1);
    const Tensor y = softmax(normal({5, 3, 17}, random.stream()));
    for (Index i = 0; i < 5; ++i)
        for (Index j = 0; j < 3; ++j) {
            double sum = 0;
            for (Index k = 0; k < 17; ++k) {
                REQUIRE(y(i, j, k) > 0);
                sum += static_cast<double>(y(i, j, k));
            }
            REQUIRE(std::abs(sum - 1) < rounding);
        }
}

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
    if constexpr (in_double) {
        Random random(2);
        const Tensor x = normal({3, 2, 7}, random.stream()),
                     dy = normal({3, 2, 7}, random.stream());
        const Tensor dx = softmax_backward(dy, softmax(x));
        const GradientError error = check_gradient([&] { return softmax(x); }, x, dx, dy);
        INFO(to_string(error));
        REQUIRE(error.relative < 1e-6);
    }
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

TEST_CASE("one row by hand is what attention computes") {
    // scores 0 0 0 3 3 6 6 over sqrt(4), and a hidden one
    const Tensor q({1, 1, 1, 4}, {0, 0, 0, 3});
    const Tensor k({1, 1, 8, 4}, {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 1, 1,
                                  0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 1, 1, 1});
    const Tensor v({1, 1, 8, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
    Tensor w;
    const Tensor y =
        attention(q, k, v, Mask({1, 1, 1, 8}, {0, 0, 0, 0, 0, 0, 0, 1}), {}, nullptr, &w);
    const double sum = 3 * std::exp(-3.0) + 2 * std::exp(-1.5) + 2;
    REQUIRE(std::abs(static_cast<double>(w(0, 0, 0, 0)) - std::exp(-3.0) / sum) < rounding);
    REQUIRE(std::abs(static_cast<double>(w(0, 0, 0, 4)) - std::exp(-1.5) / sum) < rounding);
    REQUIRE(std::abs(static_cast<double>(w(0, 0, 0, 6)) - 1 / sum) < rounding);
    REQUIRE(w(0, 0, 0, 7) == 0);
    const double place = (3 * std::exp(-3.0) + 7 * std::exp(-1.5) + 11) / sum;
    REQUIRE(std::abs(static_cast<double>(y(0, 0, 0, 0)) - place) < 10 * rounding);
}

TEST_CASE("attention is what its definition says, with and without a mask") {
    const Example e;
    const double scale = 1 / std::sqrt(3.0);
    REQUIRE(max_difference(attention(e.q, e.k, e.v, {}), by_definition(e, {}, scale)) < rounding);
    const Mask mask = uneven_mask();
    REQUIRE(max_difference(attention(e.q, e.k, e.v, mask), by_definition(e, mask, scale)) <
            rounding);
}

TEST_CASE("a hidden key gets weight zero, whatever the length of the row") {
    for (Index length : {2, 3, 8, 16, 17, 40, 65}) {
        const Example e(4, 1, 1, 2, length);
        Mask mask = Mask::zeros({1, 1, 1, length});
        for (Index j = length / 2; j < length; ++j) mask(0, 0, 0, j) = 1;
        for (Real fill : {Real(-1e9), -infinity}) {
            const Tensor w = weights_of(e, mask, {.fill = fill});
            for (Index i = 0; i < 2; ++i)
                for (Index j = length / 2; j < length; ++j) REQUIRE(w(0, 0, i, j) == 0);
        }
    }
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

TEST_CASE("a fill far below every score hides alike before and after the scale") {
    const Example e;
    const Mask mask = uneven_mask();
    const AttentionOptions after{.scale = Real(1) / 16, .fill = Real(-1e9)};
    const AttentionOptions before{
        .scale = Real(1) / 16, .fill = Real(-1e20), .fill_place = FillPlace::before_scale};
    REQUIRE(
        same_bits(attention(e.q, e.k, e.v, mask, after), attention(e.q, e.k, e.v, mask, before)));
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

TEST_CASE("a mask with an axis of size one serves for the whole axis") {
    const Example e;
    const Mask whole = uneven_mask();
    for (const Shape& shape : {Shape{1, 1, 1, 7}, Shape{2, 1, 1, 7}, Shape{2, 1, 5, 7},
                               Shape{1, 3, 5, 7}, Shape{1, 1, 5, 7}, Shape{2, 3, 1, 7}}) {
        Mask small(shape), large({2, 3, 5, 7});
        const auto pick = [&](int axis, Index i) { return shape[axis] == 1 ? 0 : i; };
        for (Index b = 0; b < 2; ++b)
            for (Index h = 0; h < 3; ++h)
                for (Index i = 0; i < 5; ++i)
                    for (Index j = 0; j < 7; ++j) {
                        const std::uint8_t hide = whole(pick(0, b), pick(1, h), pick(2, i), j);
                        small(pick(0, b), pick(1, h), pick(2, i), j) = hide;
                        large(b, h, i, j) = hide;
                    }
        REQUIRE(same_bits(attention(e.q, e.k, e.v, small), attention(e.q, e.k, e.v, large)));
    }
}

TEST_CASE("a mask without a head axis is refused, also where it would fit by chance") {
    const Example e(5, 2, 2, 3, 3);  // as many sentences as heads: broadcasting would go wrong
    REQUIRE_THROWS_WITH(
        attention(e.q, e.k, e.v, Mask::zeros({2, 3, 3})),
        "attention: mask has shape [2, 3, 3], scores [2, 2, 3, 3]: insert an axis for the heads");
    REQUIRE_NOTHROW(attention(e.q, e.k, e.v, over_heads(Mask::zeros({2, 3, 3}))));
}

TEST_CASE("wrong shapes are refused, with the values in the message") {
    const Example e;
    const auto attend = [&](const Shape& q, const Shape& k, const Shape& v, const Mask& mask = {}) {
        attention(Tensor::zeros(q), Tensor::zeros(k), Tensor::zeros(v), mask);
    };
    REQUIRE_THROWS_WITH(attend({1, 1, 2, 64}, {1, 1, 2, 32}, {1, 1, 2, 4}),
                        "attention: key has d_k 32, query has 64");
    REQUIRE_THROWS_WITH(attend({1, 1, 2, 4}, {1, 1, 5, 4}, {1, 1, 6, 4}),
                        Contains("[1, 1, 5, 4]") && Contains("[1, 1, 6, 4]"));
    REQUIRE_THROWS_WITH(attend({1, 8, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}), Contains("heads differ"));
    REQUIRE_THROWS_WITH(attend({2, 1, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}), Contains("batch"));
    REQUIRE_THROWS_WITH(attend({2, 2, 4}, {2, 2, 4}, {2, 2, 4}), Contains("four axes"));
    REQUIRE_THROWS_WITH(attend({1, 1, 2, 4}, {1, 1, 0, 4}, {1, 1, 0, 4}), Contains("[1, 1, 0, 4]"));
    REQUIRE_THROWS_WITH(attend({1, 1, 2, 0}, {1, 1, 2, 0}, {1, 1, 2, 4}), Contains("[1, 1, 2, 0]"));
    REQUIRE_THROWS_WITH(
        attend({1, 1, 2, 4}, {1, 1, 5, 4}, {1, 1, 5, 4}, Mask::zeros({1, 1, 2, 4})),
        "attention: mask of shape [1, 1, 2, 4] does not fit scores of shape [1, 1, 2, 5]");
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
    check_gradients(e, uneven_mask(), {.fill = Real(-1)});  // hidden weights that are not zero
    check_gradients(Example(6, 1, 1, 1, 1), {});
    if (on_cuda()) return;  // an emulator is slow, and its kernels are held against plain below
    check_gradients(e, {});
    check_gradients(e, uneven_mask());
    check_gradients(e, invert(uneven_mask()));
    check_gradients(e, uneven_mask(), {.scale = Real(0.3), .fill_place = FillPlace::before_scale});
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

TEST_CASE("the gradients agree with differences where a row has every key hidden") {
    const Example e;
    Mask mask = uneven_mask();
    for (Index j = 0; j < 7; ++j) mask(1, 2, 3, j) = 1;
    check_gradients(e, mask);
}

TEST_CASE("a row with every key hidden passes no gradient to its query and the keys") {
    const Example e(8, 1, 1, 2, 5);
    Mask mask = Mask::zeros({1, 1, 2, 5});
    for (Index j = 0; j < 5; ++j) mask(0, 0, 1, j) = 1;
    Tensor dy = e.dy.clone();
    for (Index c = 0; c < 4; ++c) dy(0, 0, 0, c) = 0;  // all gradient comes from the hidden row
    AttentionCache cache;
    attention(e.q, e.k, e.v, mask, {}, &cache);
    const AttentionGradients d = attention_backward(dy, cache);
    REQUIRE(max_difference(d.dq, Tensor::zeros(d.dq.shape())) == 0);
    REQUIRE(max_difference(d.dk, Tensor::zeros(d.dk.shape())) == 0);
    for (Index j = 0; j < 5; ++j)  // but each value gets its fifth
        for (Index c = 0; c < 4; ++c)
            REQUIRE(std::abs(static_cast<double>(d.dv(0, 0, j, c) - dy(0, 0, 1, c) / 5)) <
                    rounding);
}

TEST_CASE("a key that is hidden from every query gets no gradient, nor does its value") {
    const Example e;
    Mask mask = Mask::zeros({1, 1, 1, 7});
    mask(0, 0, 0, 4) = 1;
    AttentionCache cache;
    attention(e.q, e.k, e.v, mask, {}, &cache);
    const AttentionGradients d = attention_backward(e.dy, cache);
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h) {
            for (Index c = 0; c < 3; ++c) REQUIRE(d.dk(b, h, 4, c) == 0);
            for (Index c = 0; c < 4; ++c) REQUIRE(d.dv(b, h, 4, c) == 0);
            REQUIRE(d.dv(b, h, 3, 0) != 0);
        }
}

TEST_CASE("backward gives the same bits again and leaves its cache and arguments alone") {
    const Example e;
    AttentionCache cache;
    attention(e.q, e.k, e.v, uneven_mask(), {}, &cache);
    const Tensor q = cache.q.clone(), k = cache.k.clone(), v = cache.v.clone(),
                 w = cache.weights.clone(), dy = e.dy.clone();
    const AttentionGradients first = attention_backward(e.dy, cache);
    const AttentionGradients second = attention_backward(e.dy, cache);
    REQUIRE(same_bits(first.dq, second.dq));
    REQUIRE(same_bits(first.dk, second.dk));
    REQUIRE(same_bits(first.dv, second.dv));
    REQUIRE(same_bits(cache.q, q));
    REQUIRE(same_bits(cache.k, k));
    REQUIRE(same_bits(cache.v, v));
    REQUIRE(same_bits(cache.weights, w));
    REQUIRE(same_bits(e.dy, dy));
}

TEST_CASE("a cache and weights asked for do not change the result") {
    const Example e;
    AttentionCache cache;
    Tensor w;
    const Tensor y = attention(e.q, e.k, e.v, uneven_mask(), {}, &cache, &w);
    REQUIRE(same_bits(y, attention(e.q, e.k, e.v, uneven_mask())));
    REQUIRE(w.shape() == Shape{2, 3, 5, 7});
}

TEST_CASE("under a look-ahead mask a later key and value change no bit of an earlier row") {
    for (Index length : {7, 33}) {
        Example e(9, 2, 3, length, length, 5, 6);
        const Mask mask = over_heads(look_ahead_mask(Ids::zeros({2, length})));
        const Tensor before = attention(e.q, e.k, e.v, mask);
        const Index changed = length - 3;
        for (Index b = 0; b < 2; ++b)
            for (Index h = 0; h < 3; ++h) {
                for (Index d = 0; d < 5; ++d) e.k(b, h, changed, d) += 1;
                for (Index d = 0; d < 6; ++d) e.v(b, h, changed, d) -= 2;
            }
        const Tensor after = attention(e.q, e.k, e.v, mask);
        for (Index b = 0; b < 2; ++b)
            for (Index h = 0; h < 3; ++h)
                for (Index i = 0; i < length; ++i) {
                    const bool same =
                        std::equal(&after(b, h, i, 0), &after(b, h, i, 0) + 6, &before(b, h, i, 0));
                    REQUIRE(same == (i < changed));
                }
    }
}

TEST_CASE("the order of the keys does not matter if their values and masks go with them") {
    const Example e;
    const Mask mask = uneven_mask();
    const std::vector<Index> order{3, 0, 6, 5, 1, 4, 2};
    Example moved = e;
    moved.k = Tensor(e.k.shape());
    moved.v = Tensor(e.v.shape());
    Mask moved_mask(mask.shape());
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h)
            for (Index j = 0; j < 7; ++j) {
                const Index from = order[static_cast<std::size_t>(j)];
                std::copy_n(&e.k(b, h, from, 0), 3, &moved.k(b, h, j, 0));
                std::copy_n(&e.v(b, h, from, 0), 4, &moved.v(b, h, j, 0));
                for (Index i = 0; i < 5; ++i) moved_mask(b, h, i, j) = mask(b, h, i, from);
            }
    // other order of the sums, hence not the same bits
    REQUIRE(max_difference(attention(moved.q, moved.k, moved.v, moved_mask),
                           attention(e.q, e.k, e.v, mask)) < rounding);
}

TEST_CASE("each query is answered on its own: rows move with their queries") {
    const Example e;
    Tensor reversed(e.q.shape());
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h)
            for (Index i = 0; i < 5; ++i)
                std::copy_n(&e.q(b, h, 4 - i, 0), 3, &reversed(b, h, i, 0));
    const Tensor y = attention(e.q, e.k, e.v, {}), z = attention(reversed, e.k, e.v, {});
    for (Index i = 0; i < 5; ++i)
        for (Index c = 0; c < 4; ++c)
            REQUIRE(std::abs(static_cast<double>(y(1, 2, i, c) - z(1, 2, 4 - i, c))) < rounding);
}

TEST_CASE("more padding changes nothing for the words and their gradients") {
    const Example e(10, 2, 3, 5, 7), longer(11, 2, 3, 5, 12);
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h) {  // the same first seven keys, then something else
            Tensor k = longer.k, v = longer.v;
            std::copy_n(&e.k(b, h, 0, 0), 7 * 3, &k(b, h, 0, 0));
            std::copy_n(&e.v(b, h, 0, 0), 7 * 4, &v(b, h, 0, 0));
        }
    const Mask mask({1, 1, 1, 12}, {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1});
    AttentionCache cache, longer_cache;
    const Tensor y = attention(e.q, e.k, e.v, {}, {}, &cache);
    const Tensor padded = attention(e.q, longer.k, longer.v, mask, {}, &longer_cache);
    REQUIRE(max_difference(y, padded) < rounding);
    const AttentionGradients d = attention_backward(e.dy, cache);
    const AttentionGradients p = attention_backward(e.dy, longer_cache);
    REQUIRE(max_difference(d.dq, p.dq) < 10 * rounding);
    for (Index j = 0; j < 7; ++j)
        for (Index c = 0; c < 3; ++c)
            REQUIRE(std::abs(static_cast<double>(d.dk(1, 2, j, c) - p.dk(1, 2, j, c))) <
                    10 * rounding);
}

TEST_CASE("scaling the query instead of the scores changes round-off only") {
    const Example e;
    Tensor q = e.q.clone();
    q *= 1 / std::sqrt(Real(3));
    REQUIRE(max_difference(attention(q, e.k, e.v, {}, {.scale = 1}), attention(e.q, e.k, e.v, {})) <
            rounding);
}

TEST_CASE("the spread of random scores grows like the root of d_k, and the scale removes it") {
    Random random(12);
    for (Index d_k : {4, 64, 256}) {
        const Tensor q = normal({1, 1, 128, d_k}, random.stream());
        const Tensor k = normal({1, 1, 128, d_k}, random.stream());
        const Real scale = 1 / std::sqrt(static_cast<Real>(d_k));
        const Tensor s = matmul(q, k, {.transpose_b = true, .scale = scale});
        // 128 x 128 scores of 128 independent vectors a side: about 5 % of sampling error at d_k 4
        REQUIRE(std::abs(std::sqrt(dot(s, s) / (128 * 128)) - 1) < 0.12);
    }
}

TEST_CASE("the number of threads does not change a bit") {
    const Example e(13, 3, 5, 37, 41, 17, 19);  // more than one block of softmax rows
    const auto run = [&](int n) {
        set_threads(n);
        AttentionCache cache;
        const Tensor y = attention(e.q, e.k, e.v, {}, {}, &cache);
        const AttentionGradients d = attention_backward(e.dy, cache);
        set_threads(1);
        return std::vector<Tensor>{y, d.dq, d.dk, d.dv};
    };
    const auto one = run(1), two = run(2), again = run(1), five = run(5);
    for (std::size_t i = 0; i < one.size(); ++i) {
        REQUIRE(same_bits(one[i], again[i]));
        REQUIRE(same_bits(one[i], two[i]));
        REQUIRE(same_bits(one[i], five[i]));
    }
}

TEST_CASE("every way has plain's softmax and its gradient, for rows of all lengths") {
    // around whole vectors, and around the lengths at which a device takes another kernel
    for (Index n :
         {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 513, 1024, 1025, 2500})
        for (Index n_rows : {1, 37}) {
            CAPTURE(n, n_rows);
            const Tensor x = random_tensor({n_rows, n}, 1), dy = random_tensor({n_rows, n}, 2);
            same_in_every_way([&] {
                const Tensor y = softmax(x);
                return std::vector<Tensor>{y, softmax_backward(dy, y)};
            });
        }
    same_in_every_way([] {  // no row
        const Tensor y = softmax(Tensor({0, 7}));
        return std::vector<Tensor>{y, softmax_backward(y, y)};
    });
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
        same_in_every_way(
            [&] {
                Tensor filled = scores.clone();
                masked_fill(filled, mask, -7);
                return std::vector<Tensor>{filled};
            },
            0);
        Tensor filled = scores.clone();
        masked_fill(filled, mask, -7);
        const auto at = [&](int axis, Index i) { return mask.dim(axis) == 1 ? 0 : i; };
        const Index b = 1, h = 2, i = 3;
        for (Index j = 0; j < 37; ++j)
            CHECK(filled(b, h, i, j) ==
                  (mask(at(0, b), at(1, h), at(2, i), at(3, j)) ? Real(-7) : scores(b, h, i, j)));
    });
}

TEST_CASE("every way has plain's attention, weights and gradients, for every mask and fill") {
    const auto compare = [](const Example& e, const Mask& mask, const AttentionOptions& o = {}) {
        same_in_every_way([&] {
            AttentionCache cache;
            Tensor weights;
            const Tensor y = attention(e.q, e.k, e.v, mask, o, &cache, &weights);
            const AttentionGradients d = attention_backward(e.dy, cache);
            return std::vector<Tensor>{y, weights, d.dq, d.dk, d.dv};
        });
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
