// The kernels of multi-head attention against the processor, and against the plain way.
#include <limits>
#include <string>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/attention_by_blocks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

// Sums of up to 130 products of numbers of order one, and scores of up to 10 or 20 in the exponent,
// each rounded by half an epsilon of its size: some hundred epsilons, seldom all of one sign.
constexpr double epsilons = 256;

using All = std::vector<Tensor>;

struct Example {
    Index n_heads;
    Tensor q, k, v, dy;

    Example(Index batch, Index n_heads_, Index lq, Index lk, Index d_k)
        : n_heads(n_heads_),
          q(random_tensor({batch, lq, n_heads * d_k}, 1)),
          k(random_tensor({batch, lk, n_heads * d_k}, 2)),
          v(random_tensor({batch, lk, n_heads * d_k}, 3)),
          dy(random_tensor({batch, lq, n_heads * d_k}, 4)) {}

    /// Result, gradients, and what is kept of each query.
    All run(const Mask& mask, const AttentionOptions& options = {}) const {
        BlockAttentionCache cache;
        const Tensor y = attention_by_blocks(q, k, v, n_heads, mask, options, &cache);
        const AttentionGradients d = attention_by_blocks_backward(dy, cache);
        return {y, d.dq, d.dk, d.dv, cache.largest, cache.total};
    }
    void check(const Mask& mask, const AttentionOptions& options = {}) const {
        const auto [expected, actual] = on_both([&] { return run(mask, options); });
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            CHECK(near(expected[i], actual[i], epsilons));
        }
    }
};

/// Hides a key with probability 0.4.
Mask drawn_mask(const Shape& shape) {
    const Tensor u = [&] {
        Random random(8);
        return uniform(shape, 0, 1, random.stream());
    }();
    Mask mask(shape);
    for (Index i = 0; i < u.size(); ++i) mask.data()[i] = u.data()[i] < Real(0.4);
    return mask;
}

/// Hides whatever `hides(i, j)` says.
template <class F>
Mask mask_of(Index lq, Index lk, const F& hides) {
    Mask mask({1, 1, lq, lk});
    for (Index i = 0; i < lq; ++i)
        for (Index j = 0; j < lk; ++j) mask(0, 0, i, j) = hides(i, j);
    return mask;
}

}  // namespace

TEST_CASE("heads are split and joined on the device as on the processor", "[cuda]") {
    for (Index d_k : {1, 7, 64, 129})
        for (Index n_heads : {1, 3}) {
            const Tensor x = random_tensor({2, 5, n_heads * d_k});
            const auto [expected, actual] = on_both([&] { return split_heads(x, n_heads); });
            CHECK(same_bits(expected, actual));
            const auto [back, back_on_device] =
                on_both([&, &heads = expected] { return join_heads(heads); });
            CHECK(same_bits(back, back_on_device));
            CHECK(same_bits(back, x));
        }
    const OnDevice device;
    CHECK(split_heads(Tensor({0, 5, 6}), 3).shape() == Shape{0, 3, 5, 2});
    CHECK(join_heads(Tensor({2, 3, 0, 2})).shape() == Shape{2, 0, 6});
}

TEST_CASE("attention by blocks on the device is the processor's, for heads of every width",
          "[cuda]") {
    // the kernels are 32, 64 and 128 columns wide; wider heads go the plain way
    for (Index d_k : {1, 3, 31, 32, 33, 63, 64, 65, 100, 128}) {
        CAPTURE(d_k);
        // two sizes of tiles
        for (const auto& [lq, lk] : {std::pair<Index, Index>{33, 65}, {17, 32}}) {
            const Example e(2, 2, lq, lk, d_k);
            if (d_k > 64 && in_double) {
                const auto [expected, actual] = on_both([&] { return e.run({}); });
                for (std::size_t i = 0; i < 4; ++i) CHECK(near(expected[i], actual[i], epsilons));
                continue;
            }
            e.check({});
            e.check(drawn_mask({2, 2, lq, lk}));
        }
    }
}

TEST_CASE("a head too wide for the device's tiles goes the plain way there, backward too",
          "[cuda]") {
    const Example e(2, 2, 5, 7, 130);
    const Mask mask = drawn_mask({2, 1, 5, 7});
    const auto [expected, actual] = on_both([&] { return e.run(mask); });
    for (std::size_t i = 0; i < 4; ++i) CHECK(near(expected[i], actual[i], epsilons));

    const OnProcessor processor;
    BlockAttentionCache cache;  // forward on the device, backward on the processor
    {
        const OnDevice device;
        attention_by_blocks(e.q, e.k, e.v, 2, mask, {}, &cache);
    }
    CHECK(near(expected[1], attention_by_blocks_backward(e.dy, cache).dq, epsilons));

    attention_by_blocks(e.q, e.k, e.v, 2, mask, {}, &cache);  // and the other way round
    const OnDevice device;
    CHECK(near(expected[1], attention_by_blocks_backward(e.dy, cache).dq, epsilons));
}

TEST_CASE("attention by blocks on the device is the processor's, for lengths around its tiles",
          "[cuda]") {
    for (Index lq : {1, 15, 32, 33, 64, 66})
        for (Index lk : {1, 16, 31, 33, 64, 130}) {
            CAPTURE(lq, lk);
            Example(1, 2, lq, lk, 5).check(drawn_mask({1, 2, lq, lk}));
        }
}

TEST_CASE("the device takes every mask, every fill and every scale that the processor takes",
          "[cuda]") {
    const Example e(2, 3, 33, 70, 4);
    for (Index b : {1, 2})
        for (Index h : {1, 3})
            for (Index i : {1, 33})
                for (Index j : {1, 70}) {
                    const Mask mask = drawn_mask({b, h, i, j});
                    CAPTURE(mask.shape());
                    e.check(mask);
                }
    const Mask mask = drawn_mask({2, 1, 33, 70});
    e.check(mask, {.fill = -infinity});
    e.check(mask, {.scale = Real(0.7), .mask_meaning = MaskMeaning::keep, .fill = -2});
    e.check(mask, {.scale = Real(0.7), .fill = -2, .fill_place = FillPlace::before_scale});
    e.check(mask, {.fill = 3});  // a hidden key that counts more than a visible one
}

TEST_CASE("a tile in which all is hidden is left out where it does not count, and only there",
          "[cuda]") {
    const Example e(1, 2, 130, 200, 5);
    const auto causal = mask_of(130, 200, [](Index i, Index j) { return j > i; });
    const auto future = mask_of(130, 200, [](Index i, Index j) { return j <= i; });
    const auto middle = mask_of(130, 200, [](Index, Index j) { return j < 70 || j > 140; });
    // one query sees nothing, so all hidden keys count; another sees one key only, the last
    const auto nothing = mask_of(130, 200, [](Index i, Index j) { return i == 77 || j > i; });
    const auto late = mask_of(130, 200, [](Index, Index j) { return j < 199; });
    for (const Mask& mask : {causal, future, middle, nothing, late}) {
        e.check(mask);
        e.check(mask, {.fill = -3});  // too weak to leave anything out
    }
    for (const Mask& mask : {causal, middle, late}) e.check(mask, {.fill = -infinity});

    // with -infinity, a query that sees nothing is NaN; so is the gradient of all values
    const OnDevice device;
    const All all = e.run(nothing, {.fill = -infinity});
    for (Index c = 0; c < 10; ++c) {
        CHECK(std::isfinite(all[0](0, 76, c)));
        CHECK(std::isnan(all[0](0, 77, c)));
        CHECK(std::isnan(all[3](0, 199, c)));
    }
}

TEST_CASE("scores beyond all bounds come out finite on the device", "[cuda]") {
    Example e(1, 1, 3, 140, 4);
    for (Index peak : {0, 63, 64, 139}) {
        e.k = random_tensor({1, 140, 4}, 2);
        for (Index c = 0; c < 4; ++c) e.k(0, peak, c) *= 3000;
        CAPTURE(peak);
        const auto [expected, actual] = on_both([&] { return e.run({}); });
        // a score of some thousand is itself rounded to that many epsilons
        for (std::size_t i = 0; i < 4; ++i) CHECK(near(expected[i], actual[i], 3000 * epsilons));
    }
}

TEST_CASE("attention by blocks on the device gives the same bits again, in any order of threads",
          "[cuda]") {
    const OnDevice device;
    const Example e(2, 2, 70, 70, 33);
    const Mask mask = drawn_mask({2, 1, 70, 70});
    const All one = e.run(mask), other = e.run(mask);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], other[i]));
}

TEST_CASE("nothing to attend from is nothing on the device, too", "[cuda]") {
    for (const Shape& shape : {Shape{0, 4, 6}, Shape{2, 0, 6}}) {
        Example e(2, 2, 4, 5, 3);
        e.q = e.dy = Tensor::zeros(shape);
        if (shape[0] == 0) e.k = e.v = Tensor::zeros({0, 5, 6});
        const auto [expected, actual] = on_both([&] { return e.run({}); });
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(same_bits(expected[i], actual[i]));
    }
}

TEST_CASE("on the device, gradients by blocks agree with differences, hidden weights and all",
          "[cuda]") {
    if (!in_double) return;
    const OnDevice device;
    const Example e(1, 2, 3, 34, 1);
    const Mask mask = drawn_mask({1, 2, 3, 34});
    for (const AttentionOptions& o : {AttentionOptions{}, AttentionOptions{.fill = -1}}) {
        const All d = e.run(mask, o);
        const auto forward = [&] { return attention_by_blocks(e.q, e.k, e.v, 2, mask, o); };
        CHECK(check_gradient(forward, e.q, d[1], e.dy).relative < 1e-6);
        CHECK(check_gradient(forward, e.k, d[2], e.dy).relative < 1e-6);
        CHECK(check_gradient(forward, e.v, d[3], e.dy).relative < 1e-6);
    }
}

TEST_CASE("multi-head attention on the device is the processor's, in all its forms", "[cuda]") {
    for (bool shared : {false, true})
        for (bool with_weights : {false, true}) {
            CAPTURE(shared, with_weights);
            const auto run = [&] {
                Random random(5);
                MultiHeadAttention layer(
                    {.d_model = 24, .n_heads = 3, .shared_head_maps = shared, .attention = {}},
                    random);
                shake(layer, random);
                const Tensor x = normal({2, 9, 24}, random.stream()),
                             y = normal({2, 12, 24}, random.stream()),
                             dy = normal(x.shape(), random.stream());
                MultiHeadAttention::Cache cache;
                Tensor weights;
                All all{layer.forward(x, y, y, drawn_mask({2, 9, 12}), &cache,
                                      with_weights ? &weights : nullptr)};
                const auto d = layer.backward(dy, cache);
                all.insert(all.end(), {d.dquery, d.dkey, d.dvalue});
                if (with_weights) all.push_back(weights);
                for (const NamedParameter& p : parameters_of(layer))
                    all.push_back(p.parameter->grad());
                return all;
            };
            const auto [expected, actual] = on_both(run);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                CAPTURE(i);
                CHECK(near(expected[i], actual[i], epsilons));
            }
        }
}

TEST_CASE("a warm step of multi-head attention on the device sends nothing", "[cuda]") {
    const OnDevice device;
    Random random(6);
    MultiHeadAttention layer({.d_model = 12, .n_heads = 2}, random);
    const Tensor x = random_tensor({2, 5, 12});
    const Mask mask = drawn_mask({2, 5, 5});
    for (bool with_weights : {false, true}) {
        const auto step = [&] {
            MultiHeadAttention::Cache cache;
            Tensor weights;
            const Tensor y =
                layer.forward(x, x, x, mask, &cache, with_weights ? &weights : nullptr);
            layer.backward(y, cache);
        };
        step();
        const Transfers before = transfers();
        step();
        CHECK(transfers().to_device == before.to_device);
        CHECK(transfers().to_host == before.to_host);
    }
}
