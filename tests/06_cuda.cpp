// ReLU, layer norm, and the residual connection on the device, against the processor.
#include <limits>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"

using namespace abh;

namespace {

// Mean, variance and the two means of the way back are sums of up to 4096 numbers of both signs,
// taken in two orders: each is off by some epsilons of the largest partial sum over n, which is of
// the size of an element. A row divided by its deviation carries that on, a few times over.
constexpr double of_row = 30;
// Sums over rows of numbers that already differ by that much.
constexpr double of_rows = 200;

void bend(LayerNorm& norm) {
    Random random(21);
    norm.gain.value = uniform(norm.gain.value.shape(), Real(0.5), Real(1.5), random.stream());
    norm.shift.value = uniform(norm.shift.value.shape(), -1, 1, random.stream());
}

struct Normed {
    Tensor y, normalized, inverse_stddev, dx, dgain, dshift, still;
};

Normed run_norm(const Shape& shape, bool learned) {
    LayerNorm norm(shape[-1], {.learned = learned});
    bend(norm);
    const Tensor x = random_tensor(shape, 5);
    LayerNorm::Cache cache;
    const Tensor y = norm.forward(x, &cache);
    const Tensor dx = norm.backward(random_tensor(shape, 6), cache);
    norm.backward(random_tensor(shape, 7), cache);  // adds
    return {y,
            cache.normalized,
            cache.inverse_stddev,
            dx,
            norm.gain.grad(),
            norm.shift.grad(),
            norm.forward(x)};
}

void compare(const Normed& a, const Normed& b) {
    REQUIRE(near(a.y, b.y, of_row));
    REQUIRE(near(a.normalized, b.normalized, of_row));
    REQUIRE(near(a.inverse_stddev, b.inverse_stddev, of_row));
    REQUIRE(near(a.dx, b.dx, of_row));
    REQUIRE(near(a.dgain, b.dgain, of_rows));
    REQUIRE(near(a.dshift, b.dshift, of_rows));
    REQUIRE(same_bits(b.still, b.y));  // with a cache or without
}

struct Added {
    Mask kept;
    Tensor y, normalized, dx, ds, dgain, dshift, still;
};

Added run_add_norm(const Shape& shape, const AddNormOptions& options) {
    Random random(0x123456789abcdefu);
    AddNorm add_norm(shape[-1], options, random);
    bend(add_norm.norm);
    random.next_step();
    const Tensor x = random_tensor(shape, 5), s = random_tensor(shape, 6),
                 dy = random_tensor(shape, 7);
    AddNorm::Cache cache;
    const Tensor h = add_norm.before(x, &cache);
    const Tensor y = add_norm.after(x, s + h, &cache);
    auto [dx, ds] = add_norm.after_backward(dy, cache);
    dx = dx + add_norm.before_backward(ds, cache);
    return {cache.dropout.kept,
            y,
            cache.norm.normalized,
            dx,
            ds,
            add_norm.norm.gain.grad(),
            add_norm.norm.shift.grad(),
            add_norm.after(x, s)};
}

}  // namespace

TEST_CASE("on the device relu and its gradient have the same bits, NaN included", "[cuda]") {
    for (Index n : {0, 1, 31, 33, 257, 3000}) {
        const auto [a, b] = on_both([&] {
            Tensor x = random_tensor({n}, 1);
            if (n > 2) {
                x(0) = std::numeric_limits<Real>::quiet_NaN();
                x(1) = -Real(0);
                x(2) = 0;
            }
            const Tensor y = relu(x);
            return std::pair(y, relu_backward(random_tensor({n}, 2), y));
        });
        REQUIRE(same_bits(a.first, b.first));
        REQUIRE(same_bits(a.second, b.second));
    }
}

TEST_CASE("on the device a feed-forward sublayer is the processor's, forward and backward",
          "[cuda]") {
    for (bool bias : {false, true}) {
        const auto [a, b] = on_both([&] {
            Random random(9);
            FeedForward ff(33, 65, bias, random);
            FeedForward::Cache cache;
            const Tensor y = ff.forward(random_tensor({3, 11, 33}, 1), &cache);
            std::vector<Tensor> all{y, cache.hidden,
                                    ff.backward(random_tensor({3, 11, 33}, 2), cache)};
            for (const NamedParameter& p : parameters_of(ff)) all.push_back(p.parameter->grad());
            return all;
        });
        // sums of up to 65 products in two orders
        for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(near(a[i], b[i], 65));
    }
}

TEST_CASE("on the device a layer norm is the processor's, forward and backward", "[cuda]") {
    for (Index n : {1, 2, 31, 32, 33, 257, 512, 513})
        for (Index n_rows : {1, 7, 8, 9, 65})
            for (bool learned : {false, true}) {
                CAPTURE(n, n_rows, learned);
                const auto [a, b] = on_both([&] { return run_norm({n_rows, n}, learned); });
                compare(a, b);
            }
}

TEST_CASE("on the device a norm of one number is its shift", "[cuda]") {
    const OnDevice device;
    LayerNorm norm(1);
    norm.shift.value.fill(3);
    LayerNorm::Cache cache;
    REQUIRE(same_bits(norm.forward(random_tensor({9, 1}), &cache), Tensor::full({9, 1}, 3)));
    REQUIRE(max_difference(norm.backward(random_tensor({9, 1}), cache), Tensor::zeros({9, 1})) ==
            0);
}

TEST_CASE("on the device rows of any width are normalised, the widest by the processor", "[cuda]") {
    for (Index n : {1000, 2047, 4093, 4096, 4097, 4100}) {
        CAPTURE(n);
        const auto [a, b] = on_both([&] { return run_norm({3, n}, true); });
        compare(a, b);
        const auto [c, d] = on_both([&] { return run_add_norm({3, n}, {.dropout = Real(0.1)}); });
        REQUIRE(same_bits(c.kept, d.kept));
        REQUIRE(near(c.y, d.y, of_row));
        REQUIRE(near(c.ds, d.ds, of_row));
    }
}

TEST_CASE("on the device no row is no error", "[cuda]") {
    const auto [a, b] = on_both([&] { return run_norm({0, 5}, true); });
    REQUIRE(b.dx.shape() == Shape{0, 5});
    REQUIRE(same_bits(a.dgain, b.dgain));
    const auto [c, d] = on_both([&] { return run_add_norm({0, 5}, {.dropout = Real(0.1)}); });
    REQUIRE(same_bits(c.dgain, d.dgain));
}

TEST_CASE("on the device more rows than warps give the processor's gradients", "[cuda]") {
    const auto [a, b] = on_both([&] { return run_norm({4500, 5}, true); });
    compare(a, b);
}

TEST_CASE("on the device add and norm is the processor's and drops the same elements", "[cuda]") {
    for (Index n : {1, 7, 32, 33, 130, 257, 512, 514})
        for (Index n_rows : {1, 9, 66})
            for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
                for (double p : {0.0, 0.3})
                    for (double p_after : {0.0, 0.2}) {
                        if (p_after > 0 && n_rows > 1) continue;
                        CAPTURE(n, n_rows, static_cast<int>(placement), p, p_after);
                        const AddNormOptions options{
                            .placement = placement,
                            .dropout = static_cast<Real>(p),
                            .dropout_after_norm = static_cast<Real>(p_after)};
                        const auto [a, b] = on_both([&] {
                            return run_add_norm({n_rows, 1, n}, options);
                        });
                        REQUIRE(same_bits(a.kept, b.kept));
                        REQUIRE(near(a.y, b.y, of_row));
                        REQUIRE(near(a.normalized, b.normalized, of_row));
                        REQUIRE(near(a.dx, b.dx, of_row));
                        REQUIRE(near(a.ds, b.ds, of_row));
                        REQUIRE(near(a.dgain, b.dgain, of_rows));
                        REQUIRE(near(a.dshift, b.dshift, of_rows));
                        REQUIRE(near(a.still, b.still, of_row));
                    }
}

TEST_CASE("on the device the same run gives the same bits again", "[cuda]") {
    const OnDevice device;
    const Added a = run_add_norm({300, 33}, {.dropout = Real(0.3)}),
                b = run_add_norm({300, 33}, {.dropout = Real(0.3)});
    REQUIRE(same_bits(a.y, b.y));
    REQUIRE(same_bits(a.ds, b.ds));
    REQUIRE(same_bits(a.dgain, b.dgain));
    REQUIRE(same_bits(a.dshift, b.dshift));
}

TEST_CASE("on the device gradients of add and norm equal central differences", "[cuda]") {
    if constexpr (in_double) {
        const OnDevice device;
        for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
            for (Index n : {6, 7}) {
                Random random(13);
                AddNorm add_norm(n, {.placement = placement, .dropout = Real(0.3)}, random);
                bend(add_norm.norm);
                const Shape shape{2, 5, n};
                const Tensor x = random_tensor(shape, 5), s = random_tensor(shape, 6),
                             dy = random_tensor(shape, 7);
                const auto forward = [&] {
                    AddNorm::Cache unused;  // the same step: the same elements are dropped
                    return add_norm.after(x, s + add_norm.before(x, &unused), &unused);
                };
                AddNorm::Cache cache;
                add_norm.after(x, s + add_norm.before(x, &cache), &cache);
                auto [dx, ds] = add_norm.after_backward(dy, cache);
                dx = dx + add_norm.before_backward(ds, cache);
                CHECK(check_gradient(forward, x, dx, dy).relative < 1e-6);
                CHECK(check_gradient(forward, s, ds, dy).relative < 1e-6);
                for (const NamedParameter& q : parameters_of(add_norm))
                    CHECK(check_gradient(forward, q.parameter->value, q.parameter->grad(), dy)
                              .relative < 1e-6);
            }
    }
}

TEST_CASE("a warm sublayer with its residual connection moves nothing between the memories",
          "[cuda]") {
    const OnDevice device;
    for (NormPlacement placement : {NormPlacement::post, NormPlacement::pre})
        for (double p_after : {0.0, 0.2}) {
            Random random(7);
            FeedForward ff(33, 65, true, random);
            AddNorm add_norm(33,
                             {.placement = placement,
                              .dropout = Real(0.1),
                              .dropout_after_norm = static_cast<Real>(p_after)},
                             random);
            const Tensor x = random_tensor({3, 11, 33}, 1), dy = random_tensor({3, 11, 33}, 2);
            Transfers before;
            for (int step : {1, 2}) {
                if (step == 2) before = transfers();
                FeedForward::Cache ff_cache;
                AddNorm::Cache cache;
                const Tensor h = add_norm.before(x, &cache);
                const Tensor y = add_norm.after(x, ff.forward(h, &ff_cache), &cache);
                const auto [dx, ds] = add_norm.after_backward(dy, cache);
                const Tensor sum = dx + add_norm.before_backward(ff.backward(ds, ff_cache), cache);
                add_norm.after(x, y);
                random.next_step();
            }
            REQUIRE(transfers().to_host == before.to_host);
            REQUIRE(transfers().to_device == before.to_device);
        }
}
