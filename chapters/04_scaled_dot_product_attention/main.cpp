#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/program.hpp"
#include "lib/random.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;

namespace {
// [sentence]
const std::vector<std::string> words{"我", "有", "一", "个", "好", "朋", "友", "P"};
const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});

// Columns: who, does, how many, what. Chosen by hand; chapter 5 lets the model learn them.
const Tensor queries({1, 1, 8, 4}, {0, 2, 0, 0,  // 我 looks for what it does
                                    2, 0, 0, 2,  // 有 for who has, and what
                                    0, 0, 1, 2,  // 一 for what it counts
                                    0, 0, 2, 1,  // 个 for its number
                                    0, 0, 0, 3,  // 好 for what is good
                                    0, 0, 1, 2,  // 朋
                                    0, 0, 1, 2,  // 友
                                    0, 0, 0, 0});
const Tensor keys({1, 1, 8, 4}, {2, 0, 0, 0,  // 我 is somebody
                                 0, 2, 0, 0,  // 有 is a verb
                                 0, 0, 2, 0,  // 一 is a number
                                 0, 0, 1, 1,  // 个 counts things
                                 0, 0, 0, 1,  // 好 goes with a thing
                                 0, 0, 0, 2,  // 朋 and
                                 0, 0, 0, 2,  // 友 are one thing
                                 1, 1, 1, 1});
// Columns: the word's place, and whether it belongs to "friend".
const Tensor values({1, 1, 8, 2}, {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 1, 6, 1, 7, 0});
// [score table]
/// Two words, of which the first does not see the second.
void show_score_table(Results& results) {
    section("Score table");
    const Tensor q({1, 1, 2, 1}, {1, 1}), k({1, 1, 2, 1}, {Real(0.19), Real(0.5)});
    Tensor w;
    attention(q, k, k, over_heads(look_ahead_mask(Ids::zeros({1, 2}))), {.scale = 1}, nullptr, &w);
    const char* const names[] = {"robot", "must"};
    for (Index i = 0; i < 2; ++i) {
        fmt::print("row {}, {:5}:", i + 1, names[i]);
        for (Index j = 0; j <= i; ++j) {
            const Real percent = 100 * w(0, 0, i, j);
            fmt::print("  {} {:.0f} % ({:.1f})", names[j], std::floor(percent), percent);
        }
        fmt::print("\n");
    }
    results.set("robot", 100 * w(0, 0, 1, 0));
    results.set("must", 100 * w(0, 0, 1, 1));
}
// [by hand]
/// Every number on the way from one query to its weights, without `attention`.
void show_row(Index row, const Mask& mask, const Tensor& weights, Results& results) {
    section("One row by hand");
    fmt::print("query {}\n", words[static_cast<std::size_t>(row)]);
    fmt::print("key    q.k   / 2    masked       - max    exp     weight\n");
    const Index n = ids.size();
    std::vector<double> dots(8), scores(8);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0, error = 0;
    for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        for (Index d = 0; d < 4; ++d)
            dots[at] += static_cast<double>(queries(0, 0, row, d) * keys(0, 0, j, d));
        scores[at] = mask(0, 0, row, j) ? -1e9 : dots[at] / 2;  // sqrt(d_k) = 2
        largest = std::max(largest, scores[at]);
    }
    for (double score : scores) sum += std::exp(score - largest);
    for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const double e = std::exp(scores[at] - largest);
        fmt::print("{:2}   {:5} {:5} {:9.4g} {:11.4g} {:6.3f}     {:6.3f}\n", words[at], dots[at],
                   dots[at] / 2, scores[at], scores[at] - largest, e, e / sum);
        error = std::max(error, std::abs(e / sum - static_cast<double>(weights(0, 0, row, j))));
    }
    fmt::print("sum of exp {:.3f}; farthest from attention(): {:.0e}\n", sum, error);
    results.set_varying("by_hand_error", error);
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
/// Scores of random queries and keys, plain and scaled, and how much of a row its largest weight
/// takes: the larger, the less gradient passes.
void show_spread(Random& random, Results& results) {
    section("Spread of scores");
    fmt::print("        q.k                     q.k / sqrt(d_k)\n");
    fmt::print(" d_k    spread  largest weight  spread  largest weight\n");
    const Index n = 256;  // as many queries and keys
    Tensor d_ks({11}), spread({2, 11}), largest({2, 11});
    for (Index at = 0; at < d_ks.size(); ++at) {
        const Index d_k = Index{1} << at;
        const Tensor q = normal({1, 1, n, d_k}, random.stream());
        const Tensor k = normal({1, 1, n, d_k}, random.stream());
        d_ks(at) = static_cast<Real>(d_k);
        for (Index scaled : {0, 1}) {
            const Real scale = scaled ? 1 / std::sqrt(static_cast<Real>(d_k)) : 1;
            const Tensor s = matmul(q, k, {.transpose_b = true, .scale = scale});
            const Tensor w = softmax(s);  // [1, 1, n, n]
            spread(scaled, at) = static_cast<Real>(std::sqrt(dot(s, s) / (n * n)));
            double total = 0;
            for (Index i = 0; i < n; ++i)
                total += *std::max_element(&w(0, 0, i, 0), &w(0, 0, i, 0) + n);
            largest(scaled, at) = static_cast<Real>(total / n);
        }
        fmt::print("{:4} {:9.2f} {:15.3f} {:7.2f} {:15.3f}\n", d_k, spread(0, at), largest(0, at),
                   spread(1, at), largest(1, at));
        results.set(fmt::format("spread_{}", d_k), spread(0, at));
        results.set(fmt::format("spread_{}_scaled", d_k), spread(1, at));
        results.set(fmt::format("largest_{}", d_k), largest(0, at));
        results.set(fmt::format("largest_{}_scaled", d_k), largest(1, at));
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
    Real sum = 0;
    for (Real score : x.values()) sum += std::exp(score);
    for (Real score : x.values()) fmt::print(" {:5.3f}", std::abs(std::exp(score) / sum));
    fmt::print("\nexp(x - max) / sum");
    const Tensor y = softmax(x);
    for (Real weight : y.values()) fmt::print("{:6.3f}", weight);
    fmt::print("\n");
}
// [fills]
/// The weight that 好 gives to the hidden P, for two places and three values of the fill.
void show_fills(const Mask& mask, Results& results) {
    section("Fill before or after the scale");
    const Real scale = Real(1) / 16;  // 1 / sqrt(256), the shared-head block's
    for (Real fill : {Real(-1e20), Real(-1e9), Real(-20)})
        for (FillPlace place : {FillPlace::before_scale, FillPlace::after_scale}) {
            Tensor w;
            attention(queries, keys, values, mask,
                      {.scale = scale, .fill = fill, .fill_place = place}, nullptr, &w);
            const bool before = place == FillPlace::before_scale;
            fmt::print("{:6g} {} the scale 1/16: P gets {:.4f}\n", fill,
                       before ? "before" : "after ", w(0, 0, 4, 7));
            if (fill == -20) results.set(before ? "leak_before" : "leak_after", w(0, 0, 4, 7));
        }
}
// [hidden row]
/// A query that may see no key at all.
void show_hidden_row(const Tensor& dy, Results& results) {
    section("A row with every key hidden");
    const Mask all = Mask::full({1, 1, 1, 1}, 1);  // for every query and key
    for (Real fill : {Real(-1e9), -std::numeric_limits<Real>::infinity()}) {
        AttentionCache cache;
        const Tensor y = attention(queries, keys, values, all, {.fill = fill}, &cache);
        fmt::print("fill {:6g}: weight {:.3f}, result {:.3f} {:.3f}\n", fill,
                   std::abs(cache.weights(0, 0, 0, 0)), std::abs(y(0, 0, 0, 0)),
                   std::abs(y(0, 0, 0, 1)));
        if (std::isinf(fill)) continue;
        const Tensor dw = matmul(dy, values, {.transpose_b = true});
        const Tensor ds = softmax_backward(dw, cache.weights), zero = Tensor::zeros(ds.shape());
        const AttentionGradients d = attention_backward(dy, cache);
        results.set("hidden_ds", max_difference(ds, zero));
        fmt::print("largest ds before it is overwritten {:.3f}, largest dq after {:g}\n",
                   max_difference(ds, zero), max_difference(d.dq, Tensor::zeros(d.dq.shape())));
    }
}
// [gradients]
/// How far the backward code is from central differences. In float, with a step to match; the
/// tests repeat this in double, where the bound is 1e-6.
void show_gradients(const Mask& mask, const Tensor& dy, Results& results) {
    section("Gradients against differences");
    const Tensor q = queries.clone(), k = keys.clone(), v = values.clone();
    AttentionCache cache;
    attention(q, k, v, mask, {}, &cache);
    const AttentionGradients d = attention_backward(dy, cache);
    const auto forward = [&] { return attention(q, k, v, mask); };
    const auto show = [&](const char* name, const Tensor& x, const Tensor& dx) {
        const GradientError error = check_gradient(forward, x, dx, dy, 1e-2);
        fmt::print("{}: {}\n", name, to_string(error));
        results.set_varying(std::string("error_") + name, error.relative);
    };
    show("dq", q, d.dq);
    show("dk", k, d.dk);
    show("dv", v, d.dv);
}
// [jacobian]
/// `dy_i / dx_j` of one row of the softmax, row i by backward of the i-th unit vector.
Tensor jacobian(const Tensor& weights, Index row) {
    const Index n = weights.dim(3);
    Tensor unit = Tensor::zeros({n, n}), y({n, n});
    for (Index i = 0; i < n; ++i) {
        unit(i, i) = 1;
        for (Index j = 0; j < n; ++j) y(i, j) = weights(0, 0, row, j);
    }
    return softmax_backward(unit, y);
}
// [by the equation]
/// Softmax as the equation says it, number by number; on the same threads.
Tensor softmax_by_equation(const Tensor& x) {
    const Index n = x.dim(-1);
    Tensor y(x.shape());
    parallel_ranges(x.size() / n, 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Real* const scores = x.data() + r * n;
            Real* const weights = y.data() + r * n;
            const Real largest = *std::max_element(scores, scores + n);
            Real sum = 0;
            for (Index j = 0; j < n; ++j) {
                weights[j] = std::exp(scores[j] - largest);
                sum += weights[j];
            }
            for (Index j = 0; j < n; ++j) weights[j] /= sum;
        }
    });
    return y;
}
// [speed]
void show_speed(Random& random, Results& results) {
    section("Making it fast");
    gain_header("softmax");
    double difference = 0;
    for (Index n : {24, 128, 512}) {
        const Index n_rows = (1 << 19) / n;
        const Tensor x = normal({n_rows, n}, random.stream());
        Tensor plain, fast;
        show_gain(
            fmt::format("{} rows of {}", n_rows, n), fmt::format("softmax_{}", n), 41,
            [&] { plain = softmax_by_equation(x); }, [&] { fast = softmax(x); }, results);
        difference = std::max(difference, max_difference(plain, fast));
    }
    fmt::print("largest difference {:.1e}\n", difference);
    results.set_varying("softmax_difference", difference);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Program program("Scaled dot-product attention, number by number.");
    Index row = 5;
    bool causal = false;
    program.app()
        .add_option("--row", row, "word whose row is computed by hand")
        ->check(CLI::Range(1, 8));
    program.app().add_flag("--causal", causal, "hide the future, too");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Random random(program.seed());
        const Mask pads = padding_mask(ids, ids), both = either(pads, look_ahead_mask(ids));
        const Mask mask = over_heads(causal ? both : pads);  // [1, 1, 8, 8]
        Tensor weights, causal_weights;
        const Tensor y = attention(queries, keys, values, mask, {}, nullptr, &weights);
        attention(queries, keys, values, over_heads(both), {}, nullptr, &causal_weights);
        const Tensor dy = normal(y.shape(), random.stream());

        show_score_table(results);
        show_row(row - 1, mask, weights, results);
        print_weights(weights, y);
        show_spread(random, results);
        show_large_scores();
        show_fills(mask, results);
        show_hidden_row(dy, results);
        show_gradients(mask, dy, results);
        show_speed(random, results);
        results.array("weights", weights);
        results.array("causal_weights", causal_weights);
        results.array("jacobian", jacobian(weights, row - 1));
        results.set("words", "我 有 一 个 好 朋 友 P");
    });
}
