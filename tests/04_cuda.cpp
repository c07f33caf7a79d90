// The kernels of attention against the processor.
#include <limits>
#include <tuple>
#include <vector>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

// An exponential is within 3 epsilons on the processor and 2 on the device, its argument adds half
// an epsilon for each unit of its size, up to 8 here; a sum of n terms taken in two orders differs
// by some more, which for n up to 2500 stays far below.
constexpr double epsilons = 32;

/// Lengths of rows around 32, 64, ..., 1024, at which another kernel begins.
constexpr Index lengths[] = {1,   2,   31,  32,  33,  63,   64,   65,   127, 129,
                             255, 257, 511, 513, 777, 1023, 1024, 1025, 2500};

Mask drawn_mask(const Shape& shape) {
    const Tensor u = [&] {
        Random random(8);
        return uniform(shape, 0, 1, random.stream());
    }();
    Mask mask(shape);
    for (Index i = 0; i < u.size(); ++i) mask.data()[i] = u.data()[i] < Real(0.4);
    return mask;
}

}  // namespace

TEST_CASE("the device's softmax and its gradient are the processor's, for rows of all lengths",
          "[cuda]") {
    for (Index n : lengths)
        for (Index n_rows : {1, 37}) {
            CAPTURE(n, n_rows);
            const Tensor x = random_tensor({n_rows, n}, 1), dy = random_tensor({n_rows, n}, 2);
            const auto [expected, actual] = on_both([&] { return softmax(x); });
            CHECK(near(expected, actual, epsilons));
            const auto [d_expected, d_actual] =
                on_both([&, &y = expected] { return softmax_backward(dy, y); });
            CHECK(near(d_expected, d_actual, epsilons));
        }
}

TEST_CASE("the device's softmax of large, hidden and missing scores is the processor's", "[cuda]") {
    for (Index n : {Index{5}, Index{70}, Index{1500}}) {
        CAPTURE(n);
        Tensor x = random_tensor({6, n}, 3);
        for (Index j = 0; j < n; ++j) {
            x(0, j) = Real(1e4) - static_cast<Real>(j);      // overflows without the maximum
            x(1, j) = j == n / 2 ? Real(2) : Real(-1e9);     // all but one hidden
            x(2, j) = Real(-1e9);                            // all hidden, by a number
            x(3, j) = j % 2 == 0 ? -infinity : Real(j % 3);  // hidden by -infinity
            x(4, j) = static_cast<Real>(-j) * 3;             // weights below the smallest number
        }
        const auto [expected, actual] = on_both([&] { return softmax(x); });
        CHECK(near(expected, actual, epsilons));
        for (Index j = 0; j < n; ++j) {
            CHECK(actual(1, j) == (j == n / 2 ? 1 : 0));
            CHECK((actual(3, j) == 0) == (j % 2 == 0));
            CHECK((actual(4, j) == 0 || actual(4, j) >= std::numeric_limits<Real>::min()));
        }
        for (Index j = 0; j < n; ++j) x(5, j) = -infinity;
        const auto [none, none_on_device] = on_both([&] { return softmax(x); });
        for (Index j = 0; j < n; ++j) CHECK(std::isnan(none_on_device(5, j)));
        CHECK(std::isnan(none(5, 0)));
    }
}

TEST_CASE("softmax of a batch without rows is empty on the device too", "[cuda]") {
    const OnDevice device;
    const Tensor y = softmax(Tensor({0, 7}));
    CHECK(y.shape() == Shape{0, 7});
    CHECK(softmax_backward(y, y).shape() == Shape{0, 7});
}

TEST_CASE("attention and its gradients on the device are the processor's, for every kind of mask",
          "[cuda]") {
    const Index batch = 2, heads = 3, n_q = 5, n_k = 37, d_k = 9, d_v = 4;
    const Tensor q = random_tensor({batch, heads, n_q, d_k}, 4),
                 k = random_tensor({batch, heads, n_k, d_k}, 5),
                 v = random_tensor({batch, heads, n_k, d_v}, 6),
                 dy = random_tensor({batch, heads, n_q, d_v}, 7);
    const auto check = [&](const Mask& mask, const AttentionOptions& options) {
        const auto run = [&] {
            AttentionCache cache;
            const Tensor y = attention(q, k, v, mask, options, &cache);
            const AttentionGradients d = attention_backward(dy, cache);
            return std::vector<Tensor>{y, cache.weights, d.dq, d.dk, d.dv};
        };
        const auto [expected, actual] = on_both(run);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            // as above; products of 37 terms besides
            CHECK(near(expected[i], actual[i], 4 * epsilons));
        }
    };
    check({}, {});
    for (Index b : {Index{1}, batch})
        for (Index h : {Index{1}, heads})
            for (Index i : {Index{1}, n_q})
                for (Index j : {Index{1}, n_k}) {
                    const Mask mask = drawn_mask({b, h, i, j});
                    CAPTURE(mask.shape());
                    check(mask, {});
                    check(mask, {.scale = Real(0.7),
                                 .mask_meaning = MaskMeaning::keep,
                                 .fill = -2,
                                 .fill_place = FillPlace::before_scale});
                }
}

TEST_CASE("on the device, the gradients of softmax and attention agree with differences",
          "[cuda]") {
    if (!in_double) return;
    const OnDevice device;
    const Tensor x = random_tensor({2, 33}, 1), dx = random_tensor({2, 33}, 2);
    CHECK(check_gradient([&] { return softmax(x); }, x, softmax_backward(dx, softmax(x)), dx)
              .relative < 1e-6);
    const Tensor q = random_tensor({1, 2, 3, 2}, 3), k = random_tensor({1, 2, 5, 2}, 4),
                 v = random_tensor({1, 2, 5, 2}, 5), dy = random_tensor({1, 2, 3, 2}, 6);
    const Mask mask({1, 1, 3, 5}, {0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0});
    const AttentionOptions weak{.fill = -1};  // hidden weights that are not 0
    AttentionCache cache;
    attention(q, k, v, mask, weak, &cache);
    const AttentionGradients d = attention_backward(dy, cache);
    const auto forward = [&] { return attention(q, k, v, mask, weak); };
    CHECK(check_gradient(forward, q, d.dq, dy).relative < 1e-6);
    CHECK(check_gradient(forward, k, d.dk, dy).relative < 1e-6);
    CHECK(check_gradient(forward, v, d.dv, dy).relative < 1e-6);
}

TEST_CASE("attention on the device sends nothing back and forth", "[cuda]") {
    const OnDevice device;
    const Tensor q = random_tensor({2, 2, 5, 4}, 1), k = random_tensor({2, 2, 7, 4}, 2);
    const Mask mask = Mask::zeros({2, 1, 5, 7});
    const auto step = [&] {
        AttentionCache cache;
        return attention_backward(attention(q, k, k, mask, {}, &cache), cache);
    };
    step();
    const Transfers before = transfers();
    step();
    CHECK(transfers().to_device == before.to_device);
    CHECK(transfers().to_host == before.to_host);
}
