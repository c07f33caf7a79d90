// Per way: what is about the device alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "chapters/05_multi_head_attention/heads.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/precision.hpp"
#include "tests/05_multi_head_attention/example.hpp"
#include "tests/devices.hpp"

using namespace abh;

namespace {

Tensor absolute(const Tensor& x) {
    Tensor y = x.clone();
    for (Real& v : y.values()) v = std::abs(v);
    return y;
}

/// An example whose numbers are those of bf16, and how far kernels in bf16 may be from plain.
struct InBf16 {
    Example e;

    explicit InBf16(const Example& any) : e(any) {
        for (Tensor* x : {&e.q, &e.k, &e.v, &e.dy}) *x = rounded(*x, Precision::bf16);
    }

    All on_device(const AttentionMask& mask, const AttentionOptions& o = {}) const {
        const ScopedWay device(Way::cuda);
        const ScopedPrecision scoped(Precision::bf16);
        return e.run(mask, o);
    }

    /// Factors are exact, and sums are in single precision. What is rounded are the weights w, each
    /// by a factor within 1 +- u, where u = 2^-8 for the 8 bits of bf16, and backward the gradients
    /// ds = w (dw - <dy, y>) of the scores, too. So y is off by no more than u times the sum of
    /// w |v|, dv by u times that of w |dy|, and ds by u (|ds| + w <|dy|, sum of w |v|>).
    All bounds(const AttentionMask& mask, const AttentionOptions& o, const Tensor& y) const {
        constexpr Real u = 0x1p-8f;
        const Mask dense = mask.dense(scores_shape(e.q, e.k, e.v, e.n_heads, mask));
        Tensor weights;
        Example sizes = e;
        for (Tensor* x : {&sizes.v, &sizes.dy}) *x = absolute(*x);
        All all = sizes.run(dense, o, &weights);
        all[1] = Tensor::zeros(e.q.shape());
        all[2] = Tensor::zeros(e.k.shape());
        const Index d_k = e.q.dim(2) / e.n_heads;
        for (Index b = 0; b < e.q.dim(0); ++b)
            for (Index first = 0; first < e.q.dim(2); first += d_k) {
                const auto dot = [&](const Tensor& x, Index i, const Tensor& z, Index j) {
                    Real sum = 0;
                    for (Index c = first; c < first + d_k; ++c) sum += x(b, i, c) * z(b, j, c);
                    return sum;
                };
                for (Index i = 0; i < e.q.dim(1); ++i) {
                    const Real of_y = dot(e.dy, i, y, i), off_y = dot(sizes.dy, i, all[0], i);
                    for (Index j = 0; j < e.k.dim(1); ++j) {
                        const Real w = weights(b, first / d_k, i, j);
                        if (!(w > 0)) continue;  // NaN where all is hidden by minus infinity
                        const Real off =
                            scale_of(o, d_k) * w * (std::abs(dot(e.dy, i, e.v, j) - of_y) + off_y);
                        for (Index c = first; c < first + d_k; ++c) {
                            all[1](b, i, c) += off * std::abs(e.k(b, j, c));
                            all[2](b, j, c) += off * std::abs(e.q(b, i, c));
                        }
                    }
                }
            }
        for (Tensor& x : all) x *= u;
        return all;
    }

    /// @return  by how much of the bounds results and gradients are off at least
    double check(const AttentionMask& mask, const AttentionOptions& o = {}) const {
        const ScopedWay plain(Way::plain);
        double least = 1;
        const All expected = e.run(mask, o), found = on_device(mask, o),
                  most = bounds(mask, o, expected[0]);
        for (std::size_t t = 0; t < most.size(); ++t) {
            double farthest = 0;
            for (Index i = 0; i < most[t].size(); ++i) {
                const double a = expected[t].data()[i], b = found[t].data()[i];
                if (a == b || (std::isnan(a) && std::isnan(b))) continue;
                const double bound = most[t].data()[i] + way_bound * std::max(1.0, std::abs(a));
                farthest = std::max(farthest, std::abs(a - b) / bound);
                REQUIRE(std::abs(a - b) <= bound);
            }
            least = std::min(least, farthest);
        }
        return least;
    }
};

}  // namespace

TEST_CASE("attention of all heads gives the same bits again on the device, in any order of threads",
          "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor q = random_tensor({2, 70, 66}, 1), k = random_tensor({2, 70, 66}, 2),
                 v = random_tensor({2, 70, 66}, 3), dy = random_tensor({2, 70, 66}, 4);
    const AttentionMask mask = hide_future();
    const auto run = [&] {
        AttendHeadsCache cache;
        const Tensor y = attend_heads(q, k, v, 2, mask, {}, &cache);
        const AttentionGradients d = attend_heads_backward(dy, cache);
        return std::vector<Tensor>{y, d.dq, d.dk, d.dv};
    };
    check_same_bits(run(), run());
}

TEST_CASE("a warm step of multi-head attention on the device sends nothing", "[cuda]") {
    Random random(6);
    MultiHeadAttention layer({.d_model = 12, .n_heads = 2}, random);
    const Tensor x = random_tensor({2, 5, 12});
    const Mask hidden = Mask::zeros({2, 5, 5});
    for (bool with_weights : {false, true})
        require_stays([&] {
            MultiHeadAttention::Cache cache;
            Tensor weights;
            const Tensor y =
                layer.forward(x, x, x, hidden, &cache, with_weights ? &weights : nullptr);
            layer.backward(y, cache);
        });
}

TEST_CASE("attention on tensor cores is off by no more than the rounding of its weights",
          "[cuda]") {
    if (in_double) return;
    for (const auto& [lq, lk] : {std::pair<Index, Index>{1, 1}, {17, 31}, {70, 133}})
        for (const Index d_k : {5, 40, 128}) {  // the kernels have 32, 64 and 128 columns
            CAPTURE(lq, lk, d_k);
            const Example any(2, d_k > 40 ? 1 : 2, lq, lk, d_k);
            const InBf16 of(any);
            InBf16 other = of;
            other.e = any;  // of which only the rounded numbers count
            check_same_bits(of.on_device({}), other.on_device({}));
            const double off = of.check({});
            CHECK((off > 0.01 || lk == 1));  // so weights are rounded indeed
            of.check(hide_future());
            of.check(hide_pads(words({lk, lk / 2})), {.scale = Real(0.7), .fill = -2});
            of.check(hide_pads(words({lk, 0})) | hide_future());
        }
}

TEST_CASE("attention on tensor cores leaves out what does not count, wherever rows begin",
          "[cuda]") {
    if (in_double) return;
    InBf16 of(Example(1, 1, 40, 330, 8));
    const auto hides = [&](const auto& is_hidden) {
        Mask mask({1, 1, 40, 330});
        for (Index i = 0; i < 40; ++i)
            for (Index j = 0; j < 330; ++j) mask(0, 0, i, j) = is_hidden(i, j);
        return mask;
    };
    // some tiles in a row, of which one is on its way; and a query that sees nothing, so all count
    const Mask gap = hides([](Index, Index j) { return 60 < j && j < 300; }),
               nothing = hides([](Index i, Index j) { return i == 7 || (20 < j && j < 270); });
    for (const Mask& mask : {gap, nothing})
        for (const Real fill : {Real(-1e9), -std::numeric_limits<Real>::infinity()})
            of.check(mask, {.fill = fill});
    of.check(hide_future() | AttentionMask(nothing));

    Tensor longer({1 + of.e.v.size()});  // the same numbers, but no piece of 16 bytes begins there
    std::copy_n(of.e.v.data(), of.e.v.size(), longer.data() + 1);
    of.e.v = longer.rows(1, longer.size()).reshape(of.e.v.shape());
    of.check(gap);

    AttentionMask packed = hide_future();
    packed.queries = packed.keys = leave_out_pads(words({70, 1, 29}));
    InBf16(Example(1, 2, 100, 100, 8)).check(packed);
}

TEST_CASE("an infinity or a NaN reaches through tensor cores what it reaches in plain attention",
          "[cuda]") {
    if (in_double) return;
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    const auto finite = [](All all) {
        for (Tensor& x : all)
            for (Real& v : x.values()) v = std::isfinite(v);
        return all;
    };
    for (const Real odd : {infinity, std::numeric_limits<Real>::quiet_NaN()})
        for (const int which : {0, 1, 2, 3}) {
            InBf16 of(Example(1, 2, 20, 40, 6));
            std::array{of.e.q, of.e.k, of.e.v, of.e.dy}[static_cast<std::size_t>(which)](0, 3, 5) =
                odd;
            const ScopedWay plain(Way::plain);
            check_agree(finite(of.e.run({})), finite(of.on_device({})), 0);
        }
}
