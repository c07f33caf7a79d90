#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/04_scaled_dot_product_attention/sentence.hpp"
#include "chapters/04_scaled_dot_product_attention/shown.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/random.hpp"
#include "lib/way.hpp"

using namespace abh;
using namespace abh::example;

namespace {
// [by hand]
/// Prints every number on the way from one query to its weights, computed without `attention`.
void show_row(Index row, const Mask& mask, const Tensor& weights) {
    section("One row by hand");
    fmt::print("query {}\n", words[static_cast<std::size_t>(row)]);
    fmt::print("key    q.k   / 2    masked       - max    exp     weight\n");
    using Row = Eigen::ArrayXd;  // a number for each key
    const Row dots = (matrix(keys) * matrix(queries).row(row).transpose()).cast<double>();
    Row scores = dots / 2;  // sqrt(d_k) = 2
    for (Index j = 0; j < 8; ++j)
        if (mask(0, 0, row, j)) scores(j) = -1e9;
    const Row below = scores - scores.maxCoeff(), e = below.exp(), by_hand = e / e.sum();
    for (Index j = 0; j < 8; ++j)
        fmt::print("{:2}   {:5} {:5} {:9.4g} {:11.4g} {:6.3f}     {:6.3f}\n",
                   words[static_cast<std::size_t>(j)], dots(j), dots(j) / 2, scores(j), below(j),
                   e(j), by_hand(j));
    const Row by_attention = matrix(weights).row(row).transpose().cast<double>();
    const double error = (by_hand - by_attention).abs().maxCoeff();
    fmt::print("sum of exp {:.3f}; largest difference from attention(): {:.0e}\n", e.sum(), error);
}
// [weights]
void print_weights(const Tensor& weights, const Tensor& y) {
    section("Weights and results");
    fmt::print("    ");
    for (const std::string& word : words) fmt::print("{:>6}", word);
    fmt::print("  place friend\n");
    for (Index i = 0; i < y.dim(2); ++i) {
        fmt::print("{:4}", words[static_cast<std::size_t>(i)]);
        for (Index j = 0; j < y.dim(2); ++j) fmt::print("{:6.2f}", weights(0, 0, i, j));
        fmt::print("{:7.2f} {:6.2f}\n", y(0, 0, i, 0), y(0, 0, i, 1));
    }
}
// [spread]
/// Prints the spread of the scores of random queries and keys, unscaled and scaled, and how much of
/// a row its largest weight takes. The more it takes, the less gradient passes.
void show_spread(Random& random, Results& results) {
    section("Spread of scores");
    fmt::print("        q.k                        q.k / sqrt(d_k)\n");
    Table table(results, {{"d_k", "4"},
                          {"spread", "8.2f", "spread_{}"},
                          {"largest weight", "15.3f", "largest_{}"},
                          {"spread", "8.2f", "spread_{}_scaled"},
                          {"largest weight", "15.3f", "largest_{}_scaled"}});
    const Index n = 256;  // queries, and as many keys
    Tensor d_ks({11}), spread({2, 11}), largest({2, 11});
    for (Index at = 0; at < d_ks.size(); ++at) {
        const Index d_k = Index{1} << at;
        const Tensor q = normal({1, 1, n, d_k}, random.stream()),
                     k = normal({1, 1, n, d_k}, random.stream());
        d_ks(at) = static_cast<Real>(d_k);
        for (Index scaled : {0, 1}) {
            const Real scale = scaled ? 1 / std::sqrt(d_ks(at)) : 1;
            const Tensor s = matmul(q, k, {.transpose_b = true, .scale = scale});
            const Tensor w = softmax(s);  // [1, 1, n, n]
            spread(scaled, at) = std::sqrt(vector(s).squaredNorm() / (n * n));
            largest(scaled, at) = matrix(w).rowwise().maxCoeff().mean();
        }
        table.row(d_k, d_k, spread(0, at), largest(0, at), spread(1, at), largest(1, at));
    }
    results.array("d_k", d_ks);
    results.array("spread", spread);
    results.array("largest", largest);
}
// [large scores]
void show_large_scores() {
    section("Large scores");
    const Tensor x({3}, {10000, 9999, 9998});
    fmt::print("scores 10000, 9999, 9998\nexp(x) / sum     ");
    const Eigen::ArrayX<Real> e = vector(x).array().exp();
    for (Real power : e) fmt::print(" {:5.3f}", std::abs(power / e.sum()));
    fmt::print("\nexp(x - max) / sum");
    const Tensor y = softmax(x);
    for (Real weight : y.values()) fmt::print("{:6.3f}", weight);
    fmt::print("\n");
}
// [fills]
/// Prints the weight that 好 gives to the hidden P, for two places and three values of the fill.
void show_fills(const Mask& mask, Results& results) {
    section("Fill before or after the scale");
    const Real scale = Real(1) / 16;  // 1 / sqrt(256), the shared-head block's
    for (Real fill : {Real(-1e20), Real(-1e9), Real(-20)})
        for (bool before : {true, false}) {
            const FillPlace place = before ? FillPlace::before_scale : FillPlace::after_scale;
            const Tensor w = attention_weights(queries, keys, mask,
                                               {.scale = scale, .fill = fill, .fill_place = place});
            fmt::print("{:6g} {} the scale 1/16: P gets {:.4f}\n", fill,
                       before ? "before" : "after ", w(0, 0, 4, 7));
            if (fill == -20) results.set(before ? "leak_before" : "leak_after", w(0, 0, 4, 7));
        }
}
// [hidden row]
/// Prints what a query that sees no key at all gets, and its gradient.
void show_hidden_row(const Tensor& dy, Results& results) {
    section("A row with every key hidden");
    const Mask all = Mask::full({1, 1, 1, 1}, 1);  // for every query and key
    for (Real fill : {Real(-1e9), -std::numeric_limits<Real>::infinity()}) {
        AttentionCache cache;
        const Tensor y = attention(queries, keys, values, all, {.fill = fill}, &cache);
        const auto row = vector(y).cwiseAbs();
        fmt::print("fill {:6g}: weight {:.3f}, result {:.3f} {:.3f}\n", fill,
                   std::abs(cache.weights(0, 0, 0, 0)), row(0), row(1));
        if (std::isinf(fill)) continue;
        const Tensor dw = matmul(dy, values, {.transpose_b = true});
        const Tensor ds = softmax_backward(dw, cache.weights),
                     dq = attention_backward(dy, cache).dq;
        const Real largest = vector(ds).cwiseAbs().maxCoeff();
        fmt::print(
            "random dy: largest ds' {:.3f} before it is overwritten, largest dq {:g} after\n",
            largest, vector(dq).cwiseAbs().maxCoeff());
        results.set("hidden_ds", largest);
    }
}
// [gradients]
/// Prints how far the backward code is from central differences. This is in float, with a step to
/// match; the tests repeat it in double, where the bound is 1e-6.
void show_gradients(const Mask& mask, const Tensor& dy, Results& results) {
    section("Gradients against differences");
    AttentionCache cache;
    attention(queries, keys, values, mask, {}, &cache);
    const AttentionGradients d = attention_backward(dy, cache);
    const auto forward = [&] { return attention(queries, keys, values, mask); };
    const GradientError dq = check_gradient(forward, queries, d.dq, dy, 1e-2),
                        dk = check_gradient(forward, keys, d.dk, dy, 1e-2),
                        dv = check_gradient(forward, values, d.dv, dy, 1e-2);
    fmt::print("dq: {}\ndk: {}\ndv: {}\n", to_string(dq), to_string(dk), to_string(dv));
    results.set_varying("worst_error", std::max({dq.relative, dk.relative, dv.relative}));
}
// [jacobian]
/// `dw_j / ds_n` for one row of the softmax; row j is the backward pass of the j-th unit vector.
Tensor jacobian(const Tensor& weights, Index row) {
    const Index n = weights.dim(3);
    Tensor unit({n, n}), w({n, n});
    matrix(unit).setIdentity();
    matrix(w).rowwise() = matrix(weights).row(row);
    return softmax_backward(unit, w);
}
// [speed]
void show_speed(Random& random, Results& results) {
    section("Making it fast");
    GainTable table(results, "softmax");
    double difference = 0;
    for (Index n : {24, 128, 512}) {
        const Tensor x = normal({(1 << 19) / n, n}, random.stream());
        Tensor y, fast;
        table.ways(fmt::format("{} rows of {}", x.dim(0), n), fmt::format("softmax_{}", n),
                   [&] { (way() == Way::plain ? y : fast) = softmax(x); });
        difference = std::max(difference, max_difference(y, fast));
    }
    fmt::print("largest difference {:.1e}\n", difference);
    results.set_varying("softmax_difference", difference);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Compute scaled dot-product attention, number by number");
    Index row = 5;
    bool causal = false;
    program.options().add("--row", row, "number of the word to compute by hand").range(1, 8);
    program.options().flag("--causal", causal, "hide the future, too");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Random random(program.seed());
        const Mask pads = padding_mask(ids, ids), both = mask_or(pads, look_ahead_mask(ids));
        const Mask mask = over_heads(causal ? both : pads);  // [1, 1, 8, 8]
        Tensor weights;
        const Tensor y = attention(queries, keys, values, mask, {}, nullptr, &weights);
        const Tensor dy = normal(y.shape(), random.stream());
        show_idea(results);
        show_row(row - 1, mask, weights);
        print_weights(weights, y);
        show_spread(random, results);
        show_large_scores();
        show_fills(mask, results);
        show_hidden_row(dy, results);
        show_gradients(mask, dy, results);
        show_speed(random, results);
        results.array("queries", queries);
        results.array("keys", keys);
        results.array("scores", matmul(queries, keys, {.transpose_b = true, .scale = Real(0.5)}));
        results.array("values", values);
        results.array("result", y);
        results.array("weights", weights);
        results.array("causal_weights", attention_weights(queries, keys, over_heads(both)));
        results.array("jacobian", jacobian(weights, row - 1));
        results.set("words", "我 有 一 个 好 朋 友 P");
    });
}
