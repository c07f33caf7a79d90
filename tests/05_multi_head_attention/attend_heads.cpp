// Per real and way: attention of all heads: every way against plain, and what must hold in each.
#include "chapters/05_multi_head_attention/attend_heads.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/device.hpp"
#include "tests/05_multi_head_attention/example.hpp"
#include "tests/gradients.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

/// Hides a key with probability 0.4, but never key `i % Lk` from query i where each query has a row
/// of its own.
Mask drawn_mask(const Shape& shape, std::uint64_t seed = 8) {
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

/// Hides whatever `hides(i, j)` says.
template <class F>
Mask mask_of(Index lq, Index lk, const F& hides) {
    Mask mask({1, 1, lq, lk});
    for (Index i = 0; i < lq; ++i)
        for (Index j = 0; j < lk; ++j) mask(0, 0, i, j) = hides(i, j);
    return mask;
}

struct Named {
    const char* name;
    AttentionMask mask;
};

/// Masks of every kind for two sentences of `n` queries and keys.
std::vector<Named> masks(Index n) {
    const AttentionMask pads = hide_pads(words({n, n / 2}));
    const AttentionMask extra = drawn_mask({2, 1, n, n});
    Mask first = Mask::zeros({1, 1, 1, n});
    first(0, 0, 0, 0) = 1;  // with the future hidden, query 0 sees no key
    return {{"none", {}},
            {"pads", pads},
            {"causal", hide_future()},
            {"extra", extra},
            {"pads and causal", pads | hide_future()},
            {"pads and extra", pads | extra},
            {"causal and extra", hide_future() | extra},
            {"all three", pads | hide_future() | extra},
            {"a query that sees no key", hide_future() | AttentionMask(first)},
            {"a sentence of pads alone", hide_pads(words({n, 0}))},
            {"all keys hidden", Mask::full({1, 1, 1, 1}, 1)}};
}

}  // namespace

TEST_CASE("every way splits and joins heads to the same bits") {
    for (Index d_k : {1, 7, 64, 129})
        for (Index n_heads : {1, 3}) {
            const Tensor x = random_tensor({2, 5, n_heads * d_k});
            same_in_every_way(
                [&] {
                    const Tensor heads = split_heads(x, n_heads);
                    return All{heads, join_heads(heads)};
                },
                0);
            CHECK(same_bits(join_heads(split_heads(x, n_heads)), x));
        }
    same_in_every_way([] {
        return All{split_heads(Tensor({0, 5, 6}), 3), join_heads(Tensor({2, 3, 0, 2}))};
    });
}

TEST_CASE("every way has plain's attention of all heads, for lengths around its blocks' sizes") {
    // 48 queries and 256 keys on the processor, 32 or 64 on the device
    const std::vector<std::pair<Index, Index>> lengths{
        {1, 1},   {1, 257}, {129, 1},  {15, 16},  {33, 31},  {32, 33},  {47, 127}, {48, 64},
        {49, 65}, {64, 48}, {65, 129}, {97, 128}, {95, 255}, {97, 257}, {130, 200}};
    for (const auto& [lq, lk] : lengths) {
        CAPTURE(lq, lk);
        const Example e(1, 2, lq, lk, 5);
        e.compare({});
        e.compare(drawn_mask({1, 2, lq, lk}));
        e.compare(hide_future());
    }
}

TEST_CASE("every way takes heads of any width and number, and several sentences") {
    // 32, 64 and 128 columns are the widths of the device's kernels; wider heads go the plain way
    for (Index d_k : {1, 5, 16, 17, 32, 33, 64, 65, 128, 130})
        for (const auto& [batch, n_heads] : {std::pair<Index, Index>{1, 1}, {2, 3}}) {
            CAPTURE(d_k, n_heads, batch);
            const Index lk = batch == 1 ? 30 : 34;  // small tiles and large ones
            const Example e(batch, n_heads, 18, lk, d_k);
            e.compare({});
            e.compare(drawn_mask({batch, n_heads, 18, lk}));
        }
    Example e(1, 1, 18, 34, 32);
    const Index n = e.v.size();
    e.v = random_tensor({1 + n}, 3).rows(1, 1 + n).reshape(e.v.shape());  // no four begins there
    e.compare({});
}

TEST_CASE("every way takes a mask of any shape") {
    const Example e(2, 3, 17, 34, 5);
    for (Index b : {1, 2})
        for (Index h : {1, 3})
            for (Index i : {1, 17})
                for (Index j : {1, 34}) {
                    const Mask hide = drawn_mask({b, h, i, j});
                    CAPTURE(hide.shape());
                    e.compare(hide);
                }
    e.compare(drawn_mask({1, 2, 17, 34}).reshape({2, 17, 34}));  // three axes: of the sentences
}

TEST_CASE("every way takes masks of every kind, and all fills and scales") {
    const std::vector<AttentionOptions> kinds{
        {},
        {.scale = Real(0.7), .fill = -2},  // too weak to make a hidden weight 0
        {.scale = Real(0.7), .fill = -2, .fill_place = FillPlace::before_scale},
        {.fill = Real(-1e20), .fill_place = FillPlace::before_scale},
        {.fill = 3}};             // a hidden key that counts more than a visible one
    for (Index n : {1, 7, 33}) {  // a device has smaller tiles up to 32
        const Example e(2, 2, n, n, 6);
        for (const auto& [name, mask] : masks(n)) {
            CAPTURE(n, name);
            for (const AttentionOptions& o : kinds) e.compare(mask, o);
        }
    }
    const Example e(2, 2, 65, 65, 6);
    for (const AttentionMask& mask : {hide_future(), hide_pads(words({65, 9})) | hide_future()})
        e.compare(mask, {.fill = -infinity});
}

TEST_CASE("a block of hidden keys is left out where it does not count, and only there") {
    const Example e(1, 2, 130, 300, 5);
    const auto causal = mask_of(130, 300, [](Index i, Index j) { return j > i; });
    const auto future = mask_of(130, 300, [](Index i, Index j) { return j <= i; });
    const auto middle = mask_of(130, 300, [](Index, Index j) { return j < 70 || j > 140; });
    // one query sees nothing, so all hidden keys count; another sees one key only, the last
    const auto nothing = mask_of(130, 300, [](Index i, Index j) { return i == 77 || j > i; });
    const auto late = mask_of(130, 300, [](Index, Index j) { return j < 299; });
    for (const Mask& mask : {causal, future, middle, nothing, late}) {
        e.compare(mask);
        e.compare(mask, {.fill = -3});  // too weak to leave anything out
    }
    for (const Mask& mask : {causal, middle, late}) e.compare(mask, {.fill = -infinity});

    // with -infinity, a query that sees nothing is NaN; so is the gradient of all values
    const All all = e.run(nothing, {.fill = -infinity});
    for (Index c = 0; c < 10; ++c) {
        CHECK(std::isfinite(all[0](0, 76, c)));
        CHECK(std::isnan(all[0](0, 77, c)));
        CHECK(std::isnan(all[3](0, 299, c)));
    }
}

TEST_CASE("the largest score may stand in any block and be of any size") {
    for (Index peak : {0, 63, 64, 255, 256, 289})
        for (Real size : {Real(30), Real(3000)}) {
            Example e(1, 1, 60, 290, 4);
            for (Index c = 0; c < 4; ++c) e.k(0, peak, c) *= size;
            CAPTURE(peak, size);
            for (const Tensor& t : e.run({}))
                for (Real x : t.values()) REQUIRE(std::isfinite(x));
            // a score of up to some thousand is itself rounded to that many epsilons
            e.compare({}, {}, static_cast<double>(size) * way_bound);
        }
}

TEST_CASE("a softmax in pieces by hand, its third score a block after the others") {
    constexpr Index n_keys = 257;  // one more than a block of the fast way
    Tensor k = Tensor::zeros({1, n_keys, 1}), v = Tensor::zeros({1, n_keys, 1});
    Ids words = Ids::zeros({1, n_keys});  // pads
    const auto put = [&](Index j, Real score, Real value) {
        k(0, j, 0) = score;
        v(0, j, 0) = value;
        words(0, j) = 1;
    };
    put(0, 0, 4);
    put(1, std::log(Real(2)), 0);
    put(256, std::log(Real(4)), 8);
    AttendHeadsCache cache;
    const Tensor y = attend_heads(Tensor({1, 1, 1}, {1}), k, v, 1, hide_pads(words), {}, &cache);
    REQUIRE(std::abs(static_cast<double>(y(0, 0, 0)) - 36.0 / 7) < 1e-5);
    if (const auto* kept = std::get_if<BlockwiseCache>(&cache.kept)) {
        REQUIRE(std::abs(static_cast<double>(kept->row_max(0, 0, 0)) - std::log(4.0)) < 1e-6);
        REQUIRE(std::abs(static_cast<double>(kept->row_sum(0, 0, 0)) - 1.75) < 1e-5);
    }
}

TEST_CASE("keys hidden from a whole block of queries are left out, and change nothing") {
    // on the processor blocks of 48 queries and 256 keys, cut where the look-ahead begins; on the
    // device tiles of 32 or 64
    using Lengths = std::vector<std::pair<Index, Index>>;
    const Lengths lengths =
        on_cuda() ? Lengths{{20, 20}, {70, 70}, {33, 130}, {130, 33}}
                  : Lengths{{1, 300}, {49, 49}, {100, 30}, {30, 100}, {97, 400}, {401, 401}};
    for (const auto& [lq, lk] : lengths) {
        const Example e(2, 2, lq, lk, 5);
        const auto pads_where = [n = lk](const auto& is_pad) {
            Ids ids = words({n, n});
            for (Index b = 0; b < 2; ++b)
                for (Index j = 0; j < n; ++j)
                    if (is_pad(b, j)) ids(b, j) = 0;
            return hide_pads(ids);
        };
        const auto behind = pads_where([n = lk](Index b, Index j) { return j > n / (b + 2); });
        const auto before = pads_where([n = lk](Index b, Index j) { return j < b * n / 2; });
        const auto within =
            pads_where([n = lk](Index, Index j) { return j > n / 4 && j < 3 * n / 4; });
        // these leave hidden keys out, count a little, and count more than a visible key
        for (const Real fill : {Real(-1e9), Real(-20), Real(3)}) {
            CAPTURE(lq, lk, fill);
            for (const AttentionMask& mask : {behind, before, within})
                for (const AttentionMask& whole : {mask, mask | hide_future()})
                    e.compare(whole, {.fill = fill});
        }
    }
}

TEST_CASE("what stands at keys that are left out is not read", "[fast]") {
    // numbers that would spoil every sum they come into
    Example e(2, 2, 100, 300, 16);
    Ids ids = words({192, 192}, 300);
    for (Index j = 0; j < 100; ++j) ids(1, j) = 0;
    const AttentionMask mask = hide_pads(ids) | hide_future();
    const All clean = e.run(mask);
    for (Tensor* x : {&e.k, &e.v})
        for (Index b = 0; b < 2; ++b)
            for (Index j = 200; j < 300; ++j)
                for (Index c = 0; c < 32; ++c) (*x)(b, j, c) = infinity;
    const All all = e.run(mask);
    // sentence 1 is hidden from its first 100 queries altogether: these look at all of its keys
    for (Index i = 0; i < 100; ++i)
        for (Index c = 0; c < 32; ++c) {
            CHECK(all[0](0, i, c) == clean[0](0, i, c));
            CHECK(!std::isfinite(all[0](1, i, c)));
        }
}

TEST_CASE("attention weights may be asked for: no bit of result and gradients changes") {
    for (Index n : {1, 7, 33})
        for (const auto& [name, mask] : masks(n)) {
            CAPTURE(n, name);
            const Example e(2, 3, n, n, 5);
            Tensor weights;
            check_same_bits(e.run(mask), e.run(mask, {}, &weights));
            CHECK(weights.shape() == Shape{2, 3, n, n});
            same_in_every_way([&, &who = mask] {
                Tensor w;
                attend_heads(e.q, e.k, e.v, 3, who, {}, nullptr, &w);
                return All{w};
            });
        }
    const Example wide(1, 2, 5, 7, 130);
    Tensor weights;
    check_same_bits(wide.run({}), wide.run({}, {}, &weights));
    CHECK(weights.shape() == Shape{1, 2, 5, 7});
}

TEST_CASE("a later word changes no bit of an earlier row, in another block or its own") {
    const Example e(1, 2, 150, 150, 5);
    const Tensor before = e.forward(hide_future()).reshape({150, 10});
    for (const Index changed : {149, 75, 1}) {
        for (Tensor x : {e.q, e.k, e.v})  // handles
            for (Index c = 0; c < 10; ++c) x(0, changed, c) += 2;
        const Tensor after = e.forward(hide_future()).reshape({150, 10});
        CHECK(same_bits(after.rows(0, changed), before.rows(0, changed)));
        CHECK_FALSE(same_bits(after.rows(changed, changed + 1), before.rows(changed, changed + 1)));
    }
}

TEST_CASE("the gradients of all heads match central differences across several blocks") {
    struct Sizes {
        Index lq, lk, d_k;
    };
    // on the device a few blocks of at most 32 are enough, and all that an emulated one can bear
    const std::vector<Sizes> sizes =
        on_cuda() ? std::vector<Sizes>{{3, 34, 2}, {34, 2, 3}}
                  : std::vector<Sizes>{{50, 131, 3}, {97, 2, 5}, {2, 260, 16}};
    for (const auto& [lq, lk, d_k] : sizes) {
        CAPTURE(lq, lk, d_k);
        Example(1, 2, lq, lk, d_k).differences(drawn_mask({1, 2, lq, lk}), {.scale = Real(0.6)});
    }
    Example(1, 2, 3, 5, 1).differences(drawn_mask({1, 2, 3, 5}), {.fill = -1});
    Example(1, 2, 9, 9, 2).differences(hide_future());
    Example(1, 1, 3, 5, 130).differences({});
}

TEST_CASE("attention of all heads keeps the same bits for any number of threads, backward twice") {
    const Index lq = on_cuda() ? 34 : 130, lk = on_cuda() ? 35 : 230;
    for (Index batch : {1, 3})
        for (Real fill : {Real(-1e9), Real(-20)}) {
            const Example e(batch, 4, lq, lk, 20);
            const AttentionMask mask = hide_future() | drawn_mask({batch, 1, lq, lk}, 9);
            const AttentionOptions o{.fill = fill};
            same_for_threads([&] { return e.run(mask, o); });
            AttendHeadsCache cache;
            const Tensor y = attend_heads(e.q, e.k, e.v, 4, mask, o, &cache);
            REQUIRE(same_bits(y, e.forward(mask, o)));
            for (int time = 0; time < 2; ++time) {
                const AttentionGradients d = attend_heads_backward(e.dy, cache);
                check_same_bits(e.run(mask, o), {y, d.dq, d.dk, d.dv});
            }
        }
}

TEST_CASE("a batch without sentences or queries goes through every way") {
    for (const Shape& shape : {Shape{0, 4, 6}, Shape{2, 0, 6}}) {
        Example e(2, 2, 4, 5, 3);
        e.q = e.dy = Tensor::zeros(shape);
        if (shape[0] == 0) e.k = e.v = Tensor::zeros({0, 5, 6});
        e.compare({}, {}, 0);
        CHECK(e.run({})[1].shape() == shape);
    }
}

TEST_CASE("attention of all heads names what does not fit") {
    const Tensor x = Tensor::zeros({2, 3, 6}), longer = Tensor::zeros({2, 4, 6});
    REQUIRE_THROWS_WITH(attend_heads(x, x, x, 4, {}), Contains("[2, 3, 6]") && Contains("4 heads"));
    REQUIRE_THROWS_WITH(attend_heads(x, x, x, 0, {}), Contains("0 heads"));
    REQUIRE_THROWS_WITH(attend_heads(x, x, longer, 2, {}), Contains("[2, 2, 4, 3]"));
    REQUIRE_THROWS_WITH(attend_heads(x, x, x, 2, hide_pads(Ids::zeros({2, 4}))),
                        Contains("pads") && Contains("[2, 4]"));
    AttendHeadsCache cache;
    REQUIRE_THROWS_WITH(attend_heads_backward(x, cache), Contains("not filled"));
    attend_heads(x, longer, longer, 2, {}, {}, &cache);
    REQUIRE_THROWS_WITH(attend_heads_backward(longer, cache),
                        Contains("[2, 4, 6]") || Contains("[2, 2, 4, 3]"));
}
