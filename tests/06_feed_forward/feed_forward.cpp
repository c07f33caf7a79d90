// Per real and way: ReLU, layer norm, the feed-forward network.
#include "chapters/06_feed_forward/feed_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "lib/eigen.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/layers.hpp"

using namespace abh;

namespace {

// Numbers of order one after sums of some hundred terms: the order changes the last digits only.
constexpr double rounding = in_double ? 1e-12 : 1e-5;

}  // namespace

TEST_CASE("relu keeps what is positive") {
    const Tensor x({2, 3}, {-1, 0, 2, Real(0.5), -3, 4});
    const Tensor y = relu(x);
    REQUIRE(same_bits(y, Tensor({2, 3}, {0, 0, 2, Real(0.5), 0, 4})));
    const Tensor dy({2, 3}, {1, 2, 3, 4, 5, 6});
    REQUIRE(same_bits(relu_backward(dy, y), Tensor({2, 3}, {0, 0, 3, 4, 0, 6})));
    REQUIRE_THROWS_WITH(relu_backward(Tensor::zeros({3, 2}), y),
                        Contains("relu backward") && Contains("[3, 2]") && Contains("[2, 3]"));
}

TEST_CASE("relu does not hide what is not a number") {
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    const Tensor y = relu(Tensor({5}, {1, nan, -1, nan, 2}));
    REQUIRE(std::isnan(y(1)));
    REQUIRE(std::isnan(y(3)));
    Random random(1);
    for (const bool bias : {true, false}) {  // on the device, the library applies this one
        const Tensor rows({2, 2}, {nan, 1, 1, 1});
        const Tensor hidden = linear_relu(rows, Linear(2, 5, bias, random));
        for (Index i = 0; i < 5; ++i) CHECK(std::isnan(hidden(0, i)));
        for (Index i = 0; i < 5; ++i) CHECK(hidden(1, i) >= 0);
    }
}

TEST_CASE("swish is x times its logistic function") {
    const Tensor x({5}, {0, 1, -1, Real(-1.2784645), 3}), y = swish(x);
    const double expected[] = {0, 0.7310585786, -0.2689414214, -0.2784645428, 2.8577223804};
    for (Index i = 0; i < 5; ++i) CHECK(std::abs(y(i) - expected[i]) < (in_double ? 1e-9 : 2e-7));
    // its lowest point is the fourth: there the slope is 0, and below it negative
    const Tensor dx = swish_backward(Tensor::full({5}, 2), x);
    const double slopes[] = {0.5, 0.9276705119, 0.0723294881, 0, 1.0881041060};
    for (Index i = 0; i < 5; ++i)
        CHECK(std::abs(dx(i) - 2 * slopes[i]) < (in_double ? 1e-7 : 1e-6));
    CHECK(swish_backward(Tensor::full({1}, 1), Tensor({1}, {-2}))(0) < 0);
    REQUIRE_THROWS_WITH(swish_backward(Tensor::zeros({3, 2}), Tensor::zeros({2, 3})),
                        Contains("swish backward") && Contains("[3, 2]") && Contains("[2, 3]"));
}

TEST_CASE("swish of large numbers is finite, and of what is not a number is none") {
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    const Tensor x({9}, {100, 1000, -100, -1000, nan, 1e30f, -1e30f, 0, 0}), y = swish(x);
    const Tensor dx = swish_backward(Tensor::full({9}, 1), x);
    CHECK(y(0) == 100);
    CHECK(y(1) == 1000);
    CHECK(y(5) == Real(1e30f));
    for (Index i : {2, 3, 6}) CHECK(std::abs(y(i)) < Real(1e-7));
    CHECK(std::isnan(y(4)));
    for (Index i : {0, 1, 5}) CHECK(std::abs(dx(i) - 1) < Real(1e-6));
    for (Index i : {2, 3, 6}) CHECK(std::abs(dx(i)) < Real(1e-6));
    CHECK(std::isnan(dx(4)));
}

TEST_CASE("swish and its gradient are those of plain in every way") {
    for (const Shape& shape : {Shape{1}, Shape{3, 5, 7}, Shape{2, 71, 131}, Shape{0, 3}}) {
        const auto run = [&] {
            Tensor x = random_tensor(shape, 1);
            x *= 4;
            return std::vector{swish(x), swish_backward(random_tensor(shape, 2), x)};
        };
        same_in_every_way(run);
        same_for_threads(run);
    }
}

TEST_CASE("a row of feed-forward by hand, forward and backward") {
    Random random(1);
    FeedForward ff(2, 3, true, random);
    ff.first.weight.value = Tensor({3, 2}, {1, 0, 1, -1, -1, 1});
    ff.first.bias.value = Tensor({3}, {0, 1, 0});
    ff.second.weight.value = Tensor({2, 3}, {1, 1, 2, 1, -1, 1});
    ff.second.bias.value = Tensor({2}, {0, 1});
    FeedForward::Cache cache;
    REQUIRE(same_bits(ff.forward(Tensor({1, 1, 2}, {2, 1}), &cache), Tensor({1, 1, 2}, {4, 1})));
    REQUIRE(same_bits(cache.hidden, Tensor({1, 1, 3}, {2, 2, 0})));
    REQUIRE(same_bits(ff.backward(Tensor({1, 1, 2}, {3, 1}), cache), Tensor({1, 1, 2}, {6, -2})));
    REQUIRE(same_bits(ff.second.weight.grad(), Tensor({2, 3}, {6, 6, 0, 2, 2, 0})));
    REQUIRE(same_bits(ff.second.bias.grad(), Tensor({2}, {3, 1})));
    REQUIRE(max_difference(ff.first.weight.grad(), Tensor({3, 2}, {8, 4, 4, 2, 0, 0})) == 0);
    REQUIRE(max_difference(ff.first.bias.grad(), Tensor({3}, {4, 2, 0})) == 0);
}

TEST_CASE("layer norm divides by n and has epsilon under the root") {
    // mean 2, deviations -1 -1 -1 3, biased variance 3: 3 / sqrt(3) = 1.7320, not 3 / 2 = 1.5000
    const Tensor y = LayerNorm(4).forward(Tensor({4}, {1, 1, 1, 5}));
    CHECK(fmt::format("{:.4f} {:.4f}", y(0), y(3)) == "-0.5773 1.7320");
    // variance 3e-6 against epsilon 1e-5: 0.003 / sqrt(1.3e-5) = 0.8321; outside the root: 1.7221
    const Tensor flat = LayerNorm(4).forward(Tensor({4}, {0, 0, 0, Real(0.004)}));
    CHECK(std::abs(flat(3) - 0.003 / std::sqrt(1.3e-5)) < rounding);
}

TEST_CASE("a row of equal numbers becomes zeros, not NaN") {
    LayerNorm norm(5);
    LayerNorm::Cache cache;
    const Tensor y = norm.forward(Tensor::full({2, 5}, 7), &cache);
    REQUIRE(same_bits(y, Tensor::zeros({2, 5})));
    const Tensor dx = norm.backward(Tensor::full({2, 5}, 1), cache);
    for (Real g : dx.values()) REQUIRE(std::isfinite(g));
}

TEST_CASE(
    "a norm without gamma and beta starts equal to one that has them, and has no parameters") {
    Random random(5);
    LayerNorm fixed(8, {.affine = false}), learned(8);
    const Tensor x = normal({3, 8}, random.stream()), dy = normal({3, 8}, random.stream());
    LayerNorm::Cache a, b;
    REQUIRE(same_bits(fixed.forward(x, &a), learned.forward(x, &b)));
    REQUIRE(same_bits(fixed.backward(dy, a), learned.backward(dy, b)));
    REQUIRE(parameters_of(fixed).empty());
    REQUIRE(count_elements(parameters_of(learned)) == 16);
    REQUIRE(parameters_of(learned, "norm")[0].name == "norm.weight");
    REQUIRE(parameters_of(learned, "norm")[1].name == "norm.bias");
    REQUIRE(max_difference(fixed.gamma.grad(), Tensor::zeros({8})) == 0);
    REQUIRE(max_difference(learned.gamma.grad(), Tensor::zeros({8})) > 0);
}

TEST_CASE("a row of another width is refused by the norm") {
    LayerNorm norm(4);
    REQUIRE_THROWS_WITH(norm.forward(Tensor::zeros({2, 5})),
                        "layer norm: x has shape [2, 5], expected [..., 4]");
    REQUIRE_THROWS_WITH(LayerNorm(0), "layer norm: width 0, expected at least 1");
    REQUIRE_THROWS_WITH(LayerNorm(4, {.eps = -1}), "layer norm: epsilon -1, expected 0 or more");
    LayerNorm::Cache cache;
    norm.forward(Tensor::zeros({2, 4}), &cache);
    REQUIRE_THROWS_WITH(norm.backward(Tensor::zeros({3, 4}), cache),
                        Contains("[3, 4]") && Contains("[2, 4]"));
}

TEST_CASE("the gradient of a row by hand") {
    LayerNorm norm(4, {.affine = false});
    LayerNorm::Cache cache;
    norm.forward(Tensor({4}, {1, 1, 1, 5}), &cache);
    const Real unit = 1 / (3 * std::sqrt(Real(3)));  // epsilon changes the sixth digit
    const Tensor dx = norm.backward(Tensor({4}, {1, 0, 0, 0}), cache);
    REQUIRE(max_difference(dx, Tensor({4}, {2 * unit, -unit, -unit, 0})) < 1e-5);
    // 1.7320 is the most that a row of four can reach: nothing moves it
    const Tensor none = norm.backward(Tensor({4}, {0, 0, 0, 1}), cache);
    REQUIRE(max_difference(none, Tensor::zeros({4})) < 1e-5);

    LayerNorm learned(4);
    learned.forward(Tensor({4}, {1, 1, 1, 5}), &cache);
    learned.backward(Tensor({4}, {1, 0, 0, 0}), cache);
    REQUIRE(max_difference(learned.gamma.grad(), Tensor({4}, {-3 * unit, 0, 0, 0})) < 1e-5);
    REQUIRE(same_bits(learned.beta.grad(), Tensor({4}, {1, 0, 0, 0})));
}

TEST_CASE("the backward of layer norm along its own row leaves the share of epsilon") {
    // mean 2, variance 3, epsilon 1: sigma is 2, x_hat = (-1, -1, -1, 3) / 2, and 1/4 remains
    LayerNorm norm(4, {.affine = false, .eps = 1});
    LayerNorm::Cache cache;
    const Tensor x_hat = norm.forward(Tensor({4}, {1, 1, 1, 5}), &cache);
    const Tensor dx = norm.backward(x_hat, cache);
    for (Index i = 0; i < 4; ++i) REQUIRE(std::abs(dx(i) - x_hat(i) / 8) < rounding);
}

TEST_CASE("a gradient through the norm has no part along ones nor along the row itself") {
    Random random(6);
    LayerNorm norm(32);
    shake(norm);
    const Tensor x = normal({5, 32}, random.stream()), dy = normal({5, 32}, random.stream());
    LayerNorm::Cache cache;
    norm.forward(x, &cache);
    const Tensor dx = norm.backward(dy, cache);
    for (Index r = 0; r < 5; ++r) {
        REQUIRE(std::abs(matrix(dx).row(r).sum()) < 10 * rounding);
        // sum of dx * z is n mean(g z) eps / (var + eps) / s: zero but for epsilon
        REQUIRE(std::abs(matrix(dx).row(r).dot(matrix(cache.normalized).row(r))) < 1e-3);
    }
}

TEST_CASE("layer norm gradients match central differences, and add up") {
    for (Real deviation : {Real(1), Real(0.003), Real(30)})  // variance about 1, eps, 900
        check_trial(proof::layer_norm({}, deviation), {.length = 67, .d_model = 7});
}

TEST_CASE(
    "a backward that takes the variance for a constant passes with ones and fails otherwise") {
    if constexpr (in_double) {
        Random random(8);
        const LayerNorm norm(7);
        const Tensor x = normal({7}, random.stream()), random_dy = normal({7}, random.stream());
        LayerNorm::Cache cache;
        norm.forward(x, &cache);
        const auto error = [&](const Tensor& dy) {
            Tensor dx(x.shape());
            vector(dx) = (vector(dy).array() - vector(dy).mean()) * cache.inverse_stddev(0);
            const auto checked = check_gradient([&] { return norm.forward(x); }, x, dx, dy);
            return std::abs(checked.analytic - checked.numeric);
        };
        CHECK(error(Tensor::full({7}, 1)) < 1e-8);
        CHECK(error(random_dy) > 1e-3);
    }
}

TEST_CASE("feed-forward gradients match central differences, and add up") {
    for (bool bias : {false, true})
        for (Activation activation : {Activation::relu, Activation::swish})
            check_trial(proof::feed_forward(bias, activation));
}

TEST_CASE("the norm stands after the sum or before the sublayer, as asked") {
    Random random(10);
    const Tensor x = normal({2, 3, 6}, random.stream()), s = normal({2, 3, 6}, random.stream());
    const LayerNorm norm(6);

    const AddNorm post(6, {.placement = NormPlacement::post}, random);
    REQUIRE(same_bits(post.before(x), x));
    REQUIRE(same_bits(post.after(x, s), norm.forward(x + s)));

    const AddNorm pre(6, {.placement = NormPlacement::pre}, random);
    REQUIRE(same_bits(pre.before(x), norm.forward(x)));
    REQUIRE(same_bits(pre.after(x, s), x + s));

    REQUIRE(AddNormOptions{}.placement == NormPlacement::post);
    REQUIRE_THROWS_WITH(post.after(x, Tensor::zeros({2, 3, 5})),
                        Contains("[2, 3, 5]") && Contains("[2, 3, 6]"));
}

TEST_CASE("dropout acts before the sum or after the norm, and only while training") {
    Random random(12);
    const Tensor x = Tensor::full({1, 50, 6}, 1), s = Tensor::full({1, 50, 6}, 1);
    const auto distinct = [](const Tensor& t) {
        std::vector<Real> values(t.values().begin(), t.values().end());
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        return values;
    };
    AddNorm::Cache cache;
    const AddNorm before(6, {.placement = NormPlacement::pre, .dropout = Real(0.5)}, random);
    REQUIRE(distinct(before.after(x, s, &cache)) == std::vector<Real>{1, 3});
    REQUIRE(distinct(before.after(x, s)) == std::vector<Real>{2});

    const AddNorm after(6, {.placement = NormPlacement::pre, .dropout_after_norm = Real(0.5)},
                        random);
    REQUIRE(distinct(after.after(x, s, &cache)) == std::vector<Real>{0, 4});
    REQUIRE(distinct(after.after(x, s)) == std::vector<Real>{2});
}

TEST_CASE("add and norm gradients match central differences, and add up") {
    for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
        for (bool affine : {false, true})
            for (Real dropout : {Real(0), Real(0.3)})
                check_trial(proof::add_norm({.placement = placement,
                                             .norm = {.affine = affine},
                                             .dropout = dropout,
                                             .dropout_after_norm = dropout}));
}

TEST_CASE("every way of relu gives what plain gives, and hands on what is not a number") {
    for (Index n : {0, 1, 31, 33, 257, 70'001})  // the last: more than a thread takes at a time
        same_in_every_way(
            [&] {
                Tensor x = random_tensor({n}, 1);
                if (n > 2) {
                    x(0) = std::numeric_limits<Real>::quiet_NaN();
                    x(1) = -Real(0);
                    x(2) = 0;
                }
                const Tensor y = relu(x);
                return std::vector{y, relu_backward(random_tensor({n}, 2), y)};
            },
            0);
}

TEST_CASE("every way of a feed-forward sublayer gives what plain gives") {
    for (const Shape& shape : {Shape{3, 11, 33}, Shape{1, 1, 33}, Shape{0, 11, 33}})
        for (bool bias : {false, true})
            for (Activation activation : {Activation::relu, Activation::swish})
                same_in_every_way([&] {
                    Random random(9);
                    FeedForward ff(33, 65, bias, random, activation);
                    FeedForward::Cache cache;
                    const Tensor y = ff.forward(random_tensor(shape, 1), &cache);
                    const Tensor dx = ff.backward(random_tensor(shape, 2), cache);
                    return with_gradients({y, dx, cache.hidden}, ff);
                });
}

TEST_CASE("every way of layer norm gives what plain gives") {
    const auto run = [](const Shape& shape, bool affine) {
        LayerNorm norm(shape[-1], {.affine = affine});
        shake(norm);
        const Tensor x = random_tensor(shape, 5);
        LayerNorm::Cache cache;
        const Tensor y = layer_norm(x, norm, &cache);
        const Tensor dx = layer_norm_backward(random_tensor(shape, 6), norm, cache);
        layer_norm_backward(random_tensor(shape, 7), norm, cache);  // adds
        return with_gradients(
            {y, dx, cache.normalized, cache.inverse_stddev, layer_norm(x, norm, nullptr)}, norm);
    };
    // the device holds rows of up to 512 numbers in a warp, of up to 4096 in a block, and leaves
    // wider ones to the processor
    for (Index n : {1, 2, 5, 31, 33, 257, 512, 513, 4096, 5000})
        for (Index n_rows : {0, 1, 9, 65})
            for (bool affine : {false, true}) {
                if (n > 600 && n_rows > 9) continue;
                CAPTURE(n, n_rows, affine);
                same_in_every_way([&] { return run({n_rows, n}, affine); });
            }
    same_in_every_way([&] { return run({4500, 5}, true); });  // more rows than a grid has warps
}
