// Attention some queries and some keys at a time, against attention over the whole score matrix.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/attention_by_blocks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/gradcheck.hpp"
#include "lib/parallel.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

// A result is a mean of at most 257 values of order one, and a gradient a sum of that many products
// of weights and numbers of order one to ten. Both ways round each of some hundred terms once; the
// exponentials' own errors are scores of up to ten times an epsilon.
constexpr double round_off = in_double ? 1e-12 : 2e-4;

struct Example {
    Index n_heads;
    Tensor q, k, v, dy;

    Example(Index batch, Index n_heads_, Index lq, Index lk, Index d_k, std::uint64_t seed = 3)
        : n_heads(n_heads_) {
        Random random(seed);
        const Index d_model = n_heads * d_k;
        q = normal({batch, lq, d_model}, random.stream());
        k = normal({batch, lk, d_model}, random.stream());
        v = normal({batch, lk, d_model}, random.stream());
        dy = normal({batch, lq, d_model}, random.stream());
    }
};

/// Result and the three gradients.
using All = std::vector<Tensor>;

All by_blocks(const Example& e, const Mask& mask, const AttentionOptions& o = {}) {
    BlockAttentionCache cache;
    const Tensor y = attention_by_blocks(e.q, e.k, e.v, e.n_heads, mask, o, &cache);
    const AttentionGradients d = attention_by_blocks_backward(e.dy, cache);
    return {y, d.dq, d.dk, d.dv};
}

All plainly(const Example& e, const Mask& mask, const AttentionOptions& o = {}) {
    const auto split = [&](const Tensor& x) { return split_heads(x, e.n_heads); };
    AttentionCache cache;
    const Tensor y = join_heads(attention(split(e.q), split(e.k), split(e.v), mask, o, &cache));
    const AttentionGradients d = attention_backward(split(e.dy), cache);
    return {y, join_heads(d.dq), join_heads(d.dk), join_heads(d.dv)};
}

/// The largest difference of the four, gradients relative to numbers of order one.
double difference(const All& a, const All& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        double largest = 1;
        for (Real x : b[i].values()) largest = std::max(largest, std::abs(static_cast<double>(x)));
        const double d = max_difference(a[i], b[i]) / largest;
        if (!(d <= worst)) worst = d;  // not a number, too
    }
    return worst;
}

/// Drawn: hides a key with probability 0.4, but never key `i % Lk` from query i.
Mask drawn_mask(const Shape& shape, std::uint64_t seed) {
    Random random(seed);
    const Tensor u = uniform(shape, 0, 1, random.stream());
    Mask mask(shape);
    for (Index i = 0; i < u.size(); ++i) mask.data()[i] = u.data()[i] < Real(0.4);
    for (Index b = 0; b < shape[0]; ++b)
        for (Index h = 0; h < shape[1]; ++h)
            for (Index i = 0; i < shape[2]; ++i)
                if (shape[3] > 1) mask(b, h, i, i % shape[3]) = 0;
    return mask;
}

/// Around the sizes of the blocks: 48 queries and 128 keys on the processor, 32 or 64 on the
/// device.
std::vector<Index> lengths() {
    if (on_cuda()) return {1, 33, 64, 65, 129};
    return {1, 47, 48, 49, 127, 128, 129, 257};
}

}  // namespace

TEST_CASE("attention by blocks is attention, for lengths around the blocks' sizes") {
    for (Index lq : lengths())
        for (Index lk : lengths()) {
            CAPTURE(lq, lk);
            const Example e(1, 2, lq, lk, 16);
            REQUIRE(difference(by_blocks(e, {}), plainly(e, {})) < round_off);
            const Mask mask = drawn_mask({1, 2, lq, lk}, 5);
            REQUIRE(difference(by_blocks(e, mask), plainly(e, mask)) < round_off);
        }
}

TEST_CASE("attention by blocks takes heads of any width and number, and several sentences") {
    for (Index d_k : {1, 5, 16, 17, 32, 64})
        for (Index n_heads : {1, 3})
            for (Index batch : {1, 2}) {
                CAPTURE(d_k, n_heads, batch);
                const Index lq = on_cuda() ? 18 : 50, lk = on_cuda() ? 34 : 131;
                const Example e(batch, n_heads, lq, lk, d_k);
                const Mask mask = drawn_mask({batch, n_heads, lq, lk}, 6);
                REQUIRE(difference(by_blocks(e, {}), plainly(e, {})) < round_off);
                REQUIRE(difference(by_blocks(e, mask), plainly(e, mask)) < round_off);
            }
}

TEST_CASE("attention by blocks takes every mask that attention takes") {
    const Index lq = on_cuda() ? 17 : 49, lk = on_cuda() ? 34 : 130;
    const Example e(2, 3, lq, lk, 5);
    for (Index b : {1, 2})
        for (Index h : {1, 3})
            for (Index i : {Index{1}, lq})
                for (Index j : {Index{1}, lk}) {
                    const Mask hide = drawn_mask({b, h, i, j}, 7);
                    CAPTURE(hide.shape());
                    const AttentionOptions keep{.mask_meaning = MaskMeaning::keep};
                    const All all = by_blocks(e, hide);
                    REQUIRE(difference(all, plainly(e, hide)) < round_off);
                    const All kept = by_blocks(e, invert(hide), keep);
                    for (std::size_t t = 0; t < all.size(); ++t)
                        REQUIRE(same_bits(all[t], kept[t]));
                }
}

TEST_CASE("attention by blocks takes padding and look-ahead masks, all fills and scales") {
    const Example e(2, 2, 140, 140, 8);
    Ids words = Ids::full({2, 140}, 1);
    for (Index j = 70; j < 140; ++j) words(1, j) = 0;
    const Mask pads = over_heads(padding_mask(words, words));
    const Mask both = over_heads(either(look_ahead_mask(words), padding_mask(words, words)));
    const std::vector<AttentionOptions> kinds{
        {},
        {.scale = Real(0.7)},
        {.fill = -infinity},
        {.scale = Real(0.7), .fill = -2},
        {.scale = Real(0.7), .fill = -2, .fill_place = FillPlace::before_scale},
        {.fill = Real(-1e20), .fill_place = FillPlace::before_scale}};
    for (const AttentionOptions& o : kinds)
        for (const Mask& mask : {pads, both}) {
            CAPTURE(o.scale, o.fill);
            REQUIRE(difference(by_blocks(e, mask, o), plainly(e, mask, o)) < round_off);
        }
}

TEST_CASE("a whole block of hidden keys does not matter, wherever it stands") {
    const Example e(1, 2, 3, 300, 5);
    for (Real fill : {Real(-1e9), -infinity})
        for (Index visible : {0, 150, 299}) {
            Mask mask = Mask::full({1, 1, 1, 300}, 1);
            mask(0, 0, 0, visible) = 0;
            const All all = by_blocks(e, mask, {.fill = fill});
            CAPTURE(fill, visible);
            REQUIRE(difference(all, plainly(e, mask, {.fill = fill})) < round_off);
            for (Index i = 0; i < 3; ++i)
                for (Index c = 0; c < 10; ++c) REQUIRE(all[0](0, i, c) == e.v(0, visible, c));
        }
}

TEST_CASE("by blocks, a query from which every key is hidden looks at all of them equally") {
    const Example e(1, 1, 2, 200, 5);
    Mask mask = Mask::zeros({1, 1, 2, 200});
    for (Index j = 0; j < 200; ++j) mask(0, 0, 1, j) = 1;
    const All all = by_blocks(e, mask);
    REQUIRE(difference(all, plainly(e, mask)) < round_off);
    for (Index c = 0; c < 5; ++c) {
        Real mean = 0;
        for (Index j = 0; j < 200; ++j) mean += e.v(0, j, c) / 200;
        REQUIRE(std::abs(all[0](0, 1, c) - mean) < round_off);
        REQUIRE(all[1](0, 1, c) == 0);  // its scores are the fill, whatever the query
    }
    // as for attention, minus infinity leaves nothing to look at
    const All none = by_blocks(e, mask, {.fill = -infinity});
    for (Index c = 0; c < 5; ++c) {
        REQUIRE(std::isfinite(none[0](0, 0, c)));
        REQUIRE(std::isnan(none[0](0, 1, c)));
    }
}

TEST_CASE("by blocks, the largest score may stand in any block and be of any size") {
    const Example e(1, 1, 60, 290, 4);
    for (Index peak : {0, 127, 128, 289})
        for (Real size : {Real(30), Real(3000)}) {
            Example far = e;
            far.k = e.k.clone();
            for (Index c = 0; c < 4; ++c) far.k(0, peak, c) *= size;
            const All all = by_blocks(far, {}), expected = plainly(far, {});
            CAPTURE(peak, size);
            for (const Tensor& t : all)
                for (Real x : t.values()) REQUIRE(std::isfinite(x));
            // a score of up to some thousand is itself rounded to that many epsilons
            REQUIRE(difference(all, expected) < static_cast<double>(size) * round_off);
        }
}

TEST_CASE("by blocks, hidden keys have no influence and get no gradient") {
    const Example e(1, 2, 50, 140, 5);
    Mask mask = Mask::zeros({1, 1, 1, 140});
    for (Index j : {3, 127, 128, 139}) mask(0, 0, 0, j) = 1;
    const All all = by_blocks(e, mask);
    Example other = e;
    other.k = e.k.clone();
    other.v = e.v.clone();
    for (Index j : {3, 127, 128, 139})
        for (Index c = 0; c < 10; ++c) {
            REQUIRE(all[2](0, j, c) == 0);
            REQUIRE(all[3](0, j, c) == 0);
            other.k(0, j, c) = 100;
            other.v(0, j, c) = -100;
        }
    REQUIRE(same_bits(by_blocks(other, mask)[0], all[0]));
}

TEST_CASE("packed sentences attend as they do with their pads, backward too") {
    // lengths around the blocks' sizes, and heads of whole lanes and others
    for (const auto& [longest, d_model, n_heads] :
         {std::tuple{Index{7}, Index{6}, Index{2}}, {Index{150}, Index{32}, Index{2}}}) {
        CAPTURE(longest, d_model);
        const Index batch = 3, keys_longest = longest + 9;
        const auto ids = [&](Index length, std::initializer_list<Index> words) {
            Ids all = Ids::zeros({batch, length});
            Index b = 0;
            for (Index n : words) {
                for (Index t = 0; t < n; ++t) all(b, t) = 1;
                ++b;
            }
            return all;
        };
        const Ids q_ids = ids(longest, {2, longest, longest / 2});
        const Ids k_ids = ids(keys_longest, {keys_longest - 1, 1, keys_longest / 2});
        const Packed packed{leave_out_pads(q_ids), leave_out_pads(k_ids)};
        const Tensor q = random_tensor({batch, longest, d_model}, 1),
                     k = random_tensor({batch, keys_longest, d_model}, 2),
                     v = random_tensor(k.shape(), 3);
        // no gradient comes from pads
        const Tensor dy = unpack(pack(random_tensor(q.shape(), 4), packed.queries), packed.queries);
        const Mask mask = over_heads(padding_mask(q_ids, k_ids));
        BlockAttentionCache padded, cache;
        const Tensor expected = attention_by_blocks(q, k, v, n_heads, mask, {}, &padded);
        const AttentionGradients e = attention_by_blocks_backward(dy, padded);
        All before;
        for (const int threads : {1, 3}) {
            set_threads(threads);
            const Tensor y =
                attention_by_blocks(pack(q, packed.queries), pack(k, packed.keys),
                                    pack(v, packed.keys), n_heads, mask, {}, &cache, packed);
            const AttentionGradients d =
                attention_by_blocks_backward(pack(dy, packed.queries), cache);
            const All all{y, d.dq, d.dk, d.dv};
            CHECK(difference(all, {pack(expected, packed.queries), pack(e.dq, packed.queries),
                                   pack(e.dk, packed.keys), pack(e.dv, packed.keys)}) < round_off);
            for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(all[i], before[i]));
            before = all;
        }
        set_threads(1);
        CHECK_THROWS_WITH(attention_by_blocks(q, k, v, n_heads, mask, {}, nullptr, packed),
                          fmt::format("attention by blocks: x has shape {}, packed are {} rows",
                                      q.shape(), packed.queries.rows()));
    }
}

TEST_CASE("a packing may leave out nothing of the queries and something of the keys") {
    const Packed packed{leave_out_pads(Ids({1, 3}, {1, 1, 1})),
                        leave_out_pads(Ids({1, 4}, {1, 1, 0, 0}))};
    const Tensor q = random_tensor({1, 3, 6}, 1), k = random_tensor({1, 2, 6}, 2),
                 v = random_tensor({1, 2, 6}, 3), dy = random_tensor({1, 3, 6}, 4);
    const Mask mask = over_heads(padding_mask(Ids({1, 3}, {1, 1, 1}), Ids({1, 4}, {1, 1, 0, 0})));
    BlockAttentionCache cache, plain;
    const Tensor y = attention_by_blocks(q, k, v, 2, mask, {}, &cache, packed);
    CHECK(max_difference(y, attention_by_blocks(q, k, v, 2, {}, {}, &plain)) < round_off);
    const AttentionGradients d = attention_by_blocks_backward(dy, cache),
                             e = attention_by_blocks_backward(dy, plain);
    CHECK(max_difference(d.dq, e.dq) < round_off);
    CHECK(max_difference(d.dk, e.dk) < round_off);
    CHECK(max_difference(d.dv, e.dv) < round_off);
}

TEST_CASE("packed attention refuses half of a packing, and gives no weights") {
    const Packing p = leave_out_pads(Ids({2, 3}, {1, 1, 0, 1, 1, 1}));
    const Tensor x = random_tensor({1, 5, 6}), y = random_tensor({2, 3, 6});
    const std::string message =
        "attention by blocks: either queries or keys are packed, expected both or none";
    CHECK_THROWS_WITH(attention_by_blocks(x, y, y, 2, {}, {}, nullptr, {p, {}}), message);
    CHECK_THROWS_WITH(attention_by_blocks(y, x, x, 2, {}, {}, nullptr, {{}, p}), message);
    Random random(1);
    const MultiHeadAttention layer({.d_model = 6, .n_heads = 2}, random);
    Tensor weights;
    CHECK_THROWS_WITH(layer.forward(x, x, x, {}, nullptr, &weights, {p, p}),
                      "multi-head attention: no weights of packed sentences");
}

TEST_CASE("the gradients of packed attention match central differences") {
    if (!in_double) return;
    const Ids q_ids({2, 3}, {1, 1, 0, 1, 1, 1}), k_ids({2, 4}, {1, 1, 1, 0, 1, 0, 0, 0});
    const Packed packed{leave_out_pads(q_ids), leave_out_pads(k_ids)};
    const Tensor q = random_tensor({1, 5, 6}, 1), k = random_tensor({1, 4, 6}, 2),
                 v = random_tensor({1, 4, 6}, 3), dy = random_tensor({1, 5, 6}, 4);
    const Mask mask = over_heads(padding_mask(q_ids, k_ids));
    const auto forward = [&] { return attention_by_blocks(q, k, v, 2, mask, {}, nullptr, packed); };
    BlockAttentionCache cache;
    attention_by_blocks(q, k, v, 2, mask, {}, &cache, packed);
    const AttentionGradients d = attention_by_blocks_backward(dy, cache);
    CHECK(check_gradient(forward, q, d.dq, dy).relative < 1e-6);
    CHECK(check_gradient(forward, k, d.dk, dy).relative < 1e-6);
    CHECK(check_gradient(forward, v, d.dv, dy).relative < 1e-6);
}

TEST_CASE("by blocks, the gradients match central differences across several blocks") {
    if constexpr (in_double) {
        struct Sizes {
            Index lq, lk, d_k;
        };
        // on the device a few blocks of at most 32 are enough, and all that an emulated one can
        // bear
        const std::vector<Sizes> sizes =
            on_cuda() ? std::vector<Sizes>{{3, 34, 2}, {34, 2, 3}}
                      : std::vector<Sizes>{{50, 131, 3}, {97, 2, 5}, {2, 260, 16}};
        for (const auto& [lq, lk, d_k] : sizes) {
            const Example e(1, 2, lq, lk, d_k);
            const Mask mask = drawn_mask({1, 2, lq, lk}, 8);
            const AttentionOptions o{.scale = Real(0.6)};
            const All d = by_blocks(e, mask, o);
            const auto forward = [&] {
                return attention_by_blocks(e.q, e.k, e.v, e.n_heads, mask, o);
            };
            CAPTURE(lq, lk, d_k);
            CHECK(check_gradient(forward, e.q, d[1], e.dy).relative < 1e-6);
            CHECK(check_gradient(forward, e.k, d[2], e.dy).relative < 1e-6);
            CHECK(check_gradient(forward, e.v, d[3], e.dy).relative < 1e-6);
        }
    }
}

TEST_CASE("attention by blocks keeps the same bits for any number of threads, backward twice") {
    for (Index batch : {1, 3}) {
        const Index lq = on_cuda() ? 34 : 100, lk = on_cuda() ? 35 : 131;
        const Example e(batch, 4, lq, lk, 20);
        const Mask mask = drawn_mask({batch, 1, lq, lk}, 9);
        set_threads(1);
        const All one = by_blocks(e, mask);
        for_threads([&](int) {
            const All other = by_blocks(e, mask);
            for (std::size_t i = 0; i < one.size(); ++i) REQUIRE(same_bits(other[i], one[i]));
        });
        BlockAttentionCache cache;
        const Tensor y = attention_by_blocks(e.q, e.k, e.v, 4, mask, {}, &cache);
        REQUIRE(same_bits(y, attention_by_blocks(e.q, e.k, e.v, 4, mask)));
        const AttentionGradients first = attention_by_blocks_backward(e.dy, cache),
                                 second = attention_by_blocks_backward(e.dy, cache);
        REQUIRE(same_bits(first.dq, second.dq));
        REQUIRE(same_bits(first.dk, second.dk));
        REQUIRE(same_bits(first.dv, second.dv));
    }
}

TEST_CASE("a batch without sentences or queries goes through by blocks as it does plainly") {
    for (const Shape& shape : {Shape{0, 4, 6}, Shape{2, 0, 6}}) {
        Example e(2, 2, 4, 5, 3);
        e.q = e.dy = Tensor::zeros(shape);
        if (shape[0] == 0) e.k = e.v = Tensor::zeros({0, 5, 6});
        const All all = by_blocks(e, {}), expected = plainly(e, {});
        for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(same_bits(all[i], expected[i]));
    }
}

TEST_CASE("attention by blocks names what does not fit") {
    const Tensor x = Tensor::zeros({2, 3, 6}), longer = Tensor::zeros({2, 4, 6});
    REQUIRE_THROWS_WITH(attention_by_blocks(x, x, x, 4, {}),
                        Contains("[2, 3, 6]") && Contains("4 heads"));
    REQUIRE_THROWS_WITH(attention_by_blocks(x, x, x, 0, {}), Contains("0 heads"));
    REQUIRE_THROWS_WITH(attention_by_blocks(x, x, longer, 2, {}), Contains("[2, 2, 4, 3]"));
    REQUIRE_THROWS_WITH(attention_by_blocks(x, longer, longer, 2, Mask::zeros({2, 1, 3, 3})),
                        Contains("mask") && Contains("[2, 1, 3, 3]"));
    REQUIRE_THROWS_WITH(attention_by_blocks(x, Tensor({2, 0, 6}), Tensor({2, 0, 6}), 2, {}),
                        Contains("at least one key"));
    BlockAttentionCache cache;
    attention_by_blocks(x, longer, longer, 2, {}, {}, &cache);
    REQUIRE_THROWS_WITH(attention_by_blocks_backward(longer, cache),
                        Contains("[2, 4, 6]") && Contains("[2, 3, 6]"));
}
