// Per real and way: attention block by block: what its blocks leave out changes nothing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "tests/05_example.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

constexpr Real infinity = std::numeric_limits<Real>::infinity();

using All = std::vector<Tensor>;

struct Example : AttendHeadsExample {
    using AttendHeadsExample::AttendHeadsExample;

    /// The result and the three gradients by plain.
    All plainly(const AttentionMask& mask, const AttentionOptions& options = {}) const {
        const ScopedWay plain(Way::plain);
        return run(mask, options);
    }
};

void check_agree(const All& expected, const All& found) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(agree(expected[i], found[i]));
    }
}

void check_same_bits(const All& expected, const All& found) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(same_bits(expected[i], found[i]));
    }
}

/// Hides key j of sentence b where `is_pad(b, j)`.
template <class F>
AttentionMask pads_where(Index batch, Index n_keys, const F& is_pad) {
    Ids ids({batch, n_keys});
    for (Index b = 0; b < batch; ++b)
        for (Index j = 0; j < n_keys; ++j) ids(b, j) = is_pad(b, j) ? 0 : 1;
    return hide_pads(ids);
}

/// Fills that leave hidden keys out, that count a little, and that count more than a visible key.
const std::vector<Real> fills{Real(-1e9), -20, -2, 3};

}  // namespace

TEST_CASE("keys hidden from a whole block of queries are left out, and change nothing", "[fast]") {
    // blocks of 48 queries and 256 keys, cut where the look-ahead begins
    for (const auto& [lq, lk] : {std::pair<Index, Index>{1, 1},
                                 {1, 300},
                                 {47, 47},
                                 {49, 49},
                                 {100, 30},
                                 {30, 100},
                                 {200, 200},
                                 {97, 97},
                                 {97, 400},
                                 {401, 401}}) {
        CAPTURE(lq, lk);
        const Example e(2, 2, lq, lk, 5);
        const auto behind =
            pads_where(2, lk, [n = lk](Index b, Index j) { return j > n / (b + 2); });
        const auto before = pads_where(2, lk, [n = lk](Index b, Index j) { return j < b * n / 2; });
        const auto within =
            pads_where(2, lk, [n = lk](Index, Index j) { return j > n / 4 && j < 3 * n / 4; });
        for (const Real fill : fills) {
            CAPTURE(fill);
            for (const AttentionMask& mask :
                 {hide_future(), behind, before, within, behind | hide_future(),
                  before | hide_future(), within | hide_future()})
                check_agree(e.plainly(mask, {.fill = fill}), e.run(mask, {.fill = fill}));
        }
    }
}

TEST_CASE("what stands at keys that are left out is not read", "[fast]") {
    // numbers that would spoil every sum they come into
    Example e(2, 2, 100, 300, 16);
    const auto mask = pads_where(2, 300, [](Index b, Index j) { return j >= 192 || j < 100 * b; });
    const All clean = e.run(mask | hide_future());
    for (Tensor* x : {&e.k, &e.v})
        for (Index b = 0; b < 2; ++b)
            for (Index j = 200; j < 300; ++j)
                for (Index c = 0; c < 32; ++c) (*x)(b, j, c) = infinity;
    const All all = e.run(mask | hide_future());
    // sentence 1 is hidden from its first 100 queries altogether: these look at all of its keys
    for (Index i = 0; i < 100; ++i)
        for (Index c = 0; c < 32; ++c) {
            CHECK(all[0](0, i, c) == clean[0](0, i, c));
            CHECK(!std::isfinite(all[0](1, i, c)));
        }
}

TEST_CASE("a query that sees no key looks at all keys of its sentence equally, left-out ones too",
          "[fast]") {
    const Index n = 250;
    const Example e(2, 1, n, n, 5);
    // sentence 0: the first three keys are pads; sentence 1: all
    const AttentionMask mask =
        pads_where(2, n, [](Index b, Index j) { return b == 1 || j < 3; }) | hide_future();
    const All all = e.run(mask);
    check_agree(e.plainly(mask), all);
    for (Index c = 0; c < 5; ++c) {
        Real mean = 0, other_mean = 0;
        for (Index j = 0; j < n; ++j) mean += e.v(0, j, c) / Real(n);
        for (Index j = 0; j < n; ++j) other_mean += e.v(1, j, c) / Real(n);
        for (Index i = 0; i < n; ++i) {
            if (i < 3) CHECK(std::abs(all[0](0, i, c) - mean) < way_bound);
            CHECK(std::abs(all[0](1, i, c) - other_mean) < way_bound);
        }
    }
    // minus infinity leaves nothing to look at
    const All none = e.run(mask, {.fill = -infinity});
    check_agree(e.plainly(mask, {.fill = -infinity}), none);
    CHECK(std::isnan(none[0](0, 2, 0)));
    CHECK(std::isfinite(none[0](0, 3, 0)));
    CHECK(std::isnan(none[0](1, n - 1, 0)));
}

TEST_CASE("packed sentences with look-ahead attend as they do one by one", "[fast]") {
    const Index n = 210;
    const Ids ids = [&] {
        Ids all = Ids::zeros({3, n});
        for (Index b = 0; b < 3; ++b)
            for (Index j = 0; j < std::vector<Index>{210, 1, 101}[static_cast<std::size_t>(b)]; ++j)
                all(b, j) = 1;
        all(0, 1) = all(2, 1) = all(2, 50) = 0;  // pads between words
        return all;
    }();
    const Packing p = leave_out_pads(ids);
    Example e(1, 2, p.rows(), p.rows(), 5);
    AttentionMask mask = hide_pads(ids) | hide_future();
    mask.queries = mask.keys = p;
    check_agree(e.plainly(mask), e.run(mask));
}

TEST_CASE("blockwise attention gives the same bits for any number of threads, and however asked",
          "[fast]") {
    for (const Index batch : {1, 3}) {
        const Example e(batch, 3, 130, 230, 20);
        const AttentionMask pads =
            pads_where(batch, 230, [](Index b, Index j) { return j > 100 + 50 * b; });
        for (const AttentionMask& mask : {AttentionMask(), hide_future(), pads | hide_future()})
            for (const Real fill : {Real(-1e9), Real(-20)}) {
                const AttentionOptions o{.fill = fill};
                const All one = e.run(mask, o);
                for_threads([&](int) { check_same_bits(one, e.run(mask, o)); });
                Tensor weights;
                CHECK(same_bits(one[0], attend_heads(e.q, e.k, e.v, 3, mask, o)));
                CHECK(
                    same_bits(one[0], attend_heads(e.q, e.k, e.v, 3, mask, o, nullptr, &weights)));
                CHECK(weights.shape() == Shape{batch, 3, 130, 230});
            }
    }
}

TEST_CASE("the kernels leave out tiles that are hidden altogether, and change nothing", "[cuda]") {
    // tiles of 32 or 64 queries and keys
    for (const auto& [lq, lk] : {std::pair<Index, Index>{20, 20}, {70, 70}, {33, 130}, {130, 33}}) {
        CAPTURE(lq, lk);
        const Example e(2, 2, lq, lk, 3);
        const auto behind =
            pads_where(2, lk, [n = lk](Index b, Index j) { return j > n / (b + 2); });
        const auto before = pads_where(2, lk, [n = lk](Index b, Index j) { return j < b * n / 2; });
        for (const Real fill : {Real(-1e9), Real(-20), Real(3)}) {
            CAPTURE(fill);
            for (const AttentionMask& mask :
                 {hide_future(), behind, behind | hide_future(), before | hide_future()})
                check_agree(e.plainly(mask, {.fill = fill}), e.run(mask, {.fill = fill}));
        }
    }
}

TEST_CASE("the kernels find packed sentences by their offsets", "[cuda]") {
    // one shorter than a tile, one of several tiles, one of a single word
    const auto ids = [](Index longest, const std::vector<Index>& lengths) {
        Ids all = Ids::zeros({static_cast<Index>(lengths.size()), longest});
        for (Index b = 0; b < all.dim(0); ++b)
            for (Index j = 0; j < lengths[static_cast<std::size_t>(b)]; ++j) all(b, j) = 1;
        return all;
    };
    const Ids queries = ids(80, {10, 80, 1}), keys = ids(140, {70, 1, 140});
    const Packing of_queries = leave_out_pads(queries), of_keys = leave_out_pads(keys);
    const Example e(1, 2, of_queries.rows(), of_keys.rows(), 3);
    for (const bool look_ahead : {false, true}) {
        AttentionMask mask = hide_pads(keys);
        mask.causal = look_ahead;
        mask.queries = of_queries;
        mask.keys = of_keys;
        check_agree(e.plainly(mask), e.run(mask));
    }
}
