// Per real and way: projections, split and join, the whole layer.
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "chapters/03_masks/masks.hpp"
#include "lib/device.hpp"
#include "tests/gradients.hpp"
#include "tests/proof/layers.hpp"

using namespace abh;

namespace {

// Sums of at most a few hundred terms of order one: their order changes the last digits only.
constexpr double round_off = in_double ? 1e-12 : 2e-5;

/// A layer 6 wide with three heads.
MultiHeadOptions small(bool shared, bool bias = true) {
    return {.d_model = 6,
            .n_heads = 3,
            .bias_qkv = bias,
            .bias_out = bias,
            .shared_head_projections = shared,
            .attention = {}};
}

struct Inputs {
    Tensor query, key, value, dy;
};

/// Inputs with different lengths of query and key.
Inputs inputs(Random& random, Index d_model = 6) {
    return {normal({2, 3, d_model}, random.stream()), normal({2, 5, d_model}, random.stream()),
            normal({2, 5, d_model}, random.stream()), normal({2, 3, d_model}, random.stream())};
}

/// Hides the last `n` keys of the first sentence and one more of the second.
Mask hide_last(Index n, Index lq, Index lk) {
    Mask mask = Mask::zeros({2, lq, lk});
    for (Index b = 0; b < 2; ++b)
        for (Index i = 0; i < lq; ++i)
            for (Index j = lk - n - b; j < lk; ++j) mask(b, i, j) = 1;
    return mask;
}

}  // namespace

TEST_CASE("splitting gives each head its own columns, and joining puts them back") {
    const Tensor x({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Tensor heads = split_heads(x, 2);
    REQUIRE(same_bits(heads, Tensor({1, 2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8})));
    REQUIRE(same_bits(join_heads(heads), x));
}

TEST_CASE("joining keeps the positions apart") {
    Tensor heads({2, 3, 5, 2});
    for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 3; ++h)
            for (Index l = 0; l < 5; ++l)
                for (Index d = 0; d < 2; ++d) heads(b, h, l, d) = static_cast<Real>(10 * b + l);
    const Tensor joined = join_heads(heads);
    REQUIRE(joined.shape() == Shape{2, 5, 6});
    for (Index b = 0; b < 2; ++b)
        for (Index l = 0; l < 5; ++l)
            for (Index c = 0; c < 6; ++c) REQUIRE(joined(b, l, c) == static_cast<Real>(10 * b + l));
}

TEST_CASE("a block has as many parameters as its source counts") {
    const auto count = [](const MultiHeadOptions& options) {
        Random random(1);
        MultiHeadAttention layer(options, random);
        return count_elements(parameters_of(layer));
    };
    CHECK(count({.bias_qkv = false, .bias_out = false}) == 4 * 512 * 512);
    CHECK(count({}) == 4 * (512 * 512 + 512));
    CHECK(count({.d_model = 256, .bias_qkv = false, .shared_head_projections = true}) == 68'864);
}

TEST_CASE("one small map for all heads tells heads apart by their slices alone") {
    for (bool shared : {false, true}) {
        Random random(4);
        const MultiHeadAttention layer(
            {.d_model = 8, .n_heads = 2, .shared_head_projections = shared, .attention = {}},
            random);
        const Tensor x = normal({1, 5, 8}, random.stream());
        Tensor exchanged(x.shape());
        for (Index l = 0; l < 5; ++l)
            for (Index c = 0; c < 8; ++c) exchanged(0, l, c) = x(0, l, (c + 4) % 8);
        Tensor w, other;
        layer.forward(x, x, x, {}, nullptr, &w);
        layer.forward(exchanged, exchanged, exchanged, {}, nullptr, &other);
        double difference = 0;
        for (Index h = 0; h < 2; ++h)
            for (Index i = 0; i < 5; ++i)
                for (Index j = 0; j < 5; ++j)
                    difference = std::max(
                        difference,
                        std::abs(static_cast<double>(w(0, h, i, j) - other(0, 1 - h, i, j))));
        if (shared)
            REQUIRE(difference < round_off);  // a row's place may change its last bits
        else
            REQUIRE(difference > 1e-3);
    }
}

TEST_CASE("the scale of the shared-head block makes scores smaller by the root of the heads") {
    Random random(5);
    MultiHeadOptions options{
        .d_model = 256, .bias_qkv = false, .shared_head_projections = true, .attention = {}};
    const MultiHeadAttention by_head_width(options, random);
    options.attention.scale = Real(1) / 16;
    Random again(5);
    const MultiHeadAttention by_embedding(options, again);
    const Tensor x = normal({1, 4, 256}, random.stream());
    Tensor w, smaller;
    by_head_width.forward(x, x, x, {}, nullptr, &w);
    by_embedding.forward(x, x, x, {}, nullptr, &smaller);
    // log of a ratio of weights is a difference of scores
    const double wide = std::log(static_cast<double>(w(0, 3, 1, 2) / w(0, 3, 1, 0)));
    const double narrow = std::log(static_cast<double>(smaller(0, 3, 1, 2) / smaller(0, 3, 1, 0)));
    REQUIRE(std::abs(wide / narrow / std::sqrt(8.0) - 1) < 1e-3);
}

TEST_CASE("a mask of three axes belongs to the sentences, not to the heads") {
    // two sentences and two heads: without an axis for the heads, the shapes would fit all the same
    Random random(6);
    const MultiHeadAttention layer({.d_model = 6, .n_heads = 2}, random);
    const auto [query, key, value, dy] = inputs(random);
    Mask mask = Mask::zeros({2, 3, 5});
    for (Index i = 0; i < 3; ++i) mask(1, i, 4) = 1;
    Tensor weights;
    layer.forward(query, key, value, mask, nullptr, &weights);
    for (Index h = 0; h < 2; ++h)
        for (Index i = 0; i < 3; ++i) {
            REQUIRE(weights(0, h, i, 4) > 0);
            REQUIRE(weights(1, h, i, 4) == 0);
        }
}

TEST_CASE("with a look-ahead mask a later word leaves the earlier rows bit-equal") {
    Random random(7);
    const MultiHeadAttention layer({.d_model = 12, .n_heads = 3}, random);
    const Tensor x = normal({1, 7, 12}, random.stream());
    const Mask mask = look_ahead_mask(Ids::zeros({1, 7}));
    const Tensor y = layer.forward(x, x, x, mask);
    for (Index changed = 1; changed < 7; ++changed) {
        Tensor other = x.clone();
        for (Index c = 0; c < 12; ++c) other(0, changed, c) += 1;
        const Tensor z = layer.forward(other, other, other, mask);
        for (Index l = 0; l < changed; ++l)
            for (Index c = 0; c < 12; ++c) REQUIRE(z(0, l, c) == y(0, l, c));
        REQUIRE(z(0, changed, 0) != y(0, changed, 0));
    }
}

TEST_CASE("projections, attention and output projection are the forward pass") {
    for (bool shared : {false, true}) {
        Random random(11);
        const MultiHeadAttention layer(small(shared), random);
        const auto [query, key, value, dy] = inputs(random);
        const Tensor q = layer.project(layer.w_q, query), k = layer.project(layer.w_k, key),
                     v = layer.project(layer.w_v, value);
        REQUIRE(q.shape() == query.shape());
        const Tensor y = layer.w_o.forward(attend_heads(q, k, v, 3, {}));
        REQUIRE(same_bits(y, layer.forward(query, key, value, {})));
    }
}

TEST_CASE("a cache belongs to the last forward pass, with weights or without") {
    Random random(18);
    MultiHeadAttention layer({.d_model = 6, .n_heads = 3}, random);
    const auto [query, key, value, dy] = inputs(random);
    const Tensor other = normal(key.shape(), random.stream());
    MultiHeadAttention::Cache fresh, used;
    layer.forward(query, key, value, {}, &fresh);
    const auto expected = layer.backward(dy, fresh);
    Tensor weights;
    layer.forward(query, other, other, {}, &used, &weights);
    layer.forward(query, key, value, {}, &used);
    REQUIRE(same_bits(layer.backward(dy, used).dkey, expected.dkey));
    layer.forward(query, other, other, hide_future(), &used);
    layer.forward(query, key, value, {}, &used, &weights);
    REQUIRE(same_bits(layer.backward(dy, used).dkey, expected.dkey));
}

TEST_CASE("a width that the heads do not divide is refused") {
    Random random(1);
    REQUIRE_THROWS_WITH(MultiHeadAttention({.d_model = 512, .n_heads = 7}, random),
                        "multi-head attention: d_model 512 is not divisible by 7 heads");
    REQUIRE_THROWS_WITH(MultiHeadAttention({.d_model = 4, .n_heads = 0}, random),
                        "multi-head attention: d_model 4 is not divisible by 0 heads");
    REQUIRE_THROWS_WITH(
        split_heads(Tensor::zeros({1, 2, 6}), 4),
        "split_heads: x has shape [1, 2, 6], its last axis is not divisible by 4 heads");
    REQUIRE_THROWS_WITH(join_heads(Tensor::zeros({1, 2, 6})),
                        "join_heads: x has shape [1, 2, 6], expected [B, H, L, d_k]");
}

TEST_CASE("inputs of a wrong shape are refused with their sizes") {
    Random random(1);
    MultiHeadAttention layer({.d_model = 6, .n_heads = 2}, random);
    const Tensor x = Tensor::zeros({2, 3, 6});
    REQUIRE_THROWS_WITH(layer.forward(Tensor::zeros({2, 3, 5}), x, x, {}),
                        "multi-head attention: input has shape [2, 3, 5], expected [B, L, 6]");
    REQUIRE_THROWS_WITH(layer.forward(x, x, Tensor::zeros({2, 4, 6}), {}),
                        Contains("key has shape [2, 2, 3, 3], value [2, 2, 4, 3]"));
    REQUIRE_THROWS_WITH(layer.forward(x, x, x, Mask::zeros({2, 3, 4})),
                        Contains("[2, 1, 3, 4]") && Contains("[2, 2, 3, 3]"));
    MultiHeadAttention::Cache cache;
    layer.forward(x, x, x, {}, &cache);
    REQUIRE_THROWS_WITH(layer.backward(Tensor::zeros({2, 4, 6}), cache),
                        Contains("[2, 4, 6]") && Contains("[2, 3, 6]"));
}

TEST_CASE("multi-head gradients match central differences, and add up") {
    for (bool shared : {false, true})
        for (bool bias : {false, true}) check_trial(proof::multi_head(small(shared, bias)));
}

TEST_CASE("the worked gradient of two heads is what backward computes") {
    Random random(1);
    MultiHeadAttention layer({.d_model = 4, .n_heads = 2}, random);
    for (Linear* map : {&layer.w_q, &layer.w_k, &layer.w_v, &layer.w_o}) {
        map->weight.value.fill(0);
        map->bias.value.fill(0);
    }
    for (Linear* map : {&layer.w_q, &layer.w_k, &layer.w_v})
        for (Index c = 0; c < 4; ++c) map->weight.value(c, c) = 1;
    layer.w_o.weight.value(0, 1) = layer.w_o.weight.value(0, 2) = 4;
    const Real ln3 = std::log(Real(3)), root2 = std::sqrt(Real(2)), s = root2 * ln3;
    const Tensor query({1, 1, 4}, {s, 0, 0, s}), words({1, 2, 4}, {1, 0, 1, 0, 0, 1, 0, 1});
    MultiHeadAttention::Cache cache;
    const Tensor y = layer.forward(query, words, words, {}, &cache);
    const auto d = layer.backward(Tensor({1, 1, 4}, {1, 0, 0, 0}), cache);
    const auto is = [](const Tensor& found, std::initializer_list<Real> by_hand) {
        REQUIRE(max_difference(found, Tensor(found.shape(), by_hand)) < round_off);
    };
    const Real a = 3 * ln3 / 4, c = 3 / (4 * root2);
    is(y, {2, 0, 0, 0});
    is(d.dquery, {-c, c, c, -c});
    is(d.dkey, {-a, 0, 0, a, a, 0, 0, -a});
    is(d.dvalue, {0, 3, 1, 0, 0, 1, 3, 0});
    is(layer.w_o.weight.grad(), {Real(0.75), Real(0.25), Real(0.25), Real(0.75),  //
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    is(layer.w_q.weight.grad(), {-a, 0, 0, -a, a, 0, 0, a, a, 0, 0, a, -a, 0, 0, -a});
    is(layer.w_q.bias.grad(), {-c, c, c, -c});
    is(layer.w_k.bias.grad(), {0, 0, 0, 0});
    is(layer.w_v.bias.grad(), {0, 4, 4, 0});
    is(layer.w_o.bias.grad(), {1, 0, 0, 0});
}

TEST_CASE("a bias in the keys' projection has no gradient") {
    Random random(15);
    MultiHeadAttention layer({.d_model = 6, .n_heads = 3}, random);
    const auto [query, key, value, dy] = inputs(random);
    MultiHeadAttention::Cache cache;
    const Tensor y = layer.forward(query, key, value, {}, &cache);
    layer.backward(dy, cache);
    REQUIRE(max_difference(layer.w_k.bias.grad(), Tensor::zeros({6})) < round_off);
    layer.w_k.bias.value.fill(7);
    REQUIRE(max_difference(layer.forward(query, key, value, {}), y) < round_off);
}

TEST_CASE("the gradient of self-attention is the sum of its three inputs' gradients") {
    if (!in_double) return;
    Random random(16);
    MultiHeadAttention layer({.d_model = 6, .n_heads = 2}, random);
    const auto check = [&](const Shape& shape, const AttentionMask& mask) {
        const Tensor x = normal(shape, random.stream()), dy = normal(shape, random.stream());
        MultiHeadAttention::Cache cache;
        layer.forward(x, x, x, mask, &cache);
        const auto d = layer.backward(dy, cache);
        const auto forward = [&] { return layer.forward(x, x, x, mask); };
        CHECK(check_gradient(forward, x, d.dquery + d.dkey + d.dvalue, dy).relative < 1e-6);
        CHECK(check_gradient(forward, x, d.dquery + d.dkey, dy).relative > 1e-2);
    };
    check({2, 3, 6}, {});
    check({2, 3, 6}, hide_future());
    const Ids ids({3, 4}, {1, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0});
    const Packing rows = leave_out_pads(ids);
    for (AttentionMask mask : {AttentionMask(), hide_future(), hide_pads(ids) | hide_future()}) {
        mask.queries = mask.keys = rows;
        check({1, rows.rows(), 6}, mask);
    }
}

TEST_CASE("the gradient of cross-attention's memory is the sum of those of keys and values") {
    if (!in_double) return;
    Random random(17);
    MultiHeadAttention layer({.d_model = 6, .n_heads = 3}, random);
    const auto check = [&](const Shape& queries, const Shape& keys, const AttentionMask& mask) {
        const Tensor x = normal(queries, random.stream()), memory = normal(keys, random.stream()),
                     dy = normal(queries, random.stream());
        MultiHeadAttention::Cache cache;
        layer.forward(x, memory, memory, mask, &cache);
        const auto d = layer.backward(dy, cache);
        const auto forward = [&] { return layer.forward(x, memory, memory, mask); };
        CHECK(check_gradient(forward, x, d.dquery, dy).relative < 1e-6);
        CHECK(check_gradient(forward, memory, d.dkey + d.dvalue, dy).relative < 1e-6);
        CHECK(check_gradient(forward, memory, d.dkey, dy).relative > 1e-2);
    };
    if (!on_cuda()) {  // an emulator is slow
        check({2, 3, 6}, {2, 5, 6}, hide_last(1, 3, 5));
        check({2, 3, 6}, {2, 5, 6}, hide_future());
    }
    const Ids tgt({3, 3}, {1, 1, 0, 1, 0, 0, 1, 1, 1});
    const Ids src({3, 4}, {1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1});
    AttentionMask mask = hide_pads(src);
    mask.queries = leave_out_pads(tgt);
    mask.keys = leave_out_pads(src);
    check({1, 6, 6}, {1, 8, 6}, mask);
    mask.causal = true;
    check({1, 6, 6}, {1, 8, 6}, mask);
}
