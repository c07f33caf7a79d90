#include <cmath>
#include <map>
#include <vector>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/06_feed_forward/experiments.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/eigen.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

using namespace abh;

namespace {
// [print]
void print(const std::string& name, std::span<const Real> row) {
    fmt::print("{:<34}", name);
    for (Real value : row) fmt::print(" {:8.4f}", std::abs(value) < 5e-5 ? 0 : value);
    fmt::print("\n");
}
// [recipes]
/// A row normalized by one of the recipes in use.
Tensor normalize(const Tensor& x, bool unbiased, bool eps_outside) {
    const Real eps = Real(1e-5), n = static_cast<Real>(x.size() - (unbiased ? 1 : 0));
    const Real mean = vector(x).mean(), var = (vector(x).array() - mean).square().sum() / n;
    const Real divisor = eps_outside ? std::sqrt(var) + eps : std::sqrt(var + eps);
    Tensor z(x.shape());
    vector(z) = (vector(x).array() - mean) / divisor;
    return z;
}

void recipes(Results& results) {
    for (const std::string row : {"", "_flat"}) {
        section(row.empty() ? "A row by hand" : "A row that is nearly constant");
        const Tensor x({4}, {1, 1, 1, row.empty() ? Real(5) : Real(1.004)});
        print("x", x.values());
        print("layer norm", LayerNorm(4).forward(x).values());
        for (bool unbiased : {false, true})
            for (bool outside : {false, true}) {
                const Tensor z = normalize(x, unbiased, outside);
                print(fmt::format("divided by {}, eps {}", unbiased ? "n - 1" : "n",
                                  outside ? "outside" : "inside"),
                      z.values());
                if (row.empty() && !outside)
                    results.set(unbiased ? "z_unbiased" : "z_biased", z(3));
            }
    }
}
// [paths]
void paths(Results& results, Random random) {
    section("The three paths of the gradient");
    const Tensor x = normal({7}, random.stream()), dy = normal({7}, random.stream());
    const Tensor ones = Tensor::full({7}, 1);
    Table table(results, {{"largest absolute error", "<26"},
                          varying("all ones", "12.1e", "paths_{}_ones"),
                          varying("random", "12.1e", "paths_{}_random")});
    const char* names[] = {"directly", "and through the mean", "and through the variance"};
    for (int n : {1, 2, 3})
        table.row(n, names[n - 1], error_of_paths(n, x, ones), error_of_paths(n, x, dy));
}
// [sentence]
/// The rows of the running example before and after the norm that follows a feed-forward sublayer,
/// with plain or scaled embeddings, for the figure.
void keep_rows(const Results& results, Random random, Index d_model, Index d_ff, bool scaled) {
    const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
    const Embedding embedding(11, d_model, {.scale = scaled}, random);
    const PositionalEncoding positions(d_model, {}, random);
    const FeedForward sublayer(d_model, d_ff, false, random);
    const AddNorm add_norm(d_model, {.norm = {.affine = false}}, random);
    const Tensor x = positions.forward(embedding.forward(ids));  // [1, 8, d_model]
    const Tensor f = sublayer.forward(x), sum = x + f, y = add_norm.after(x, f);
    const std::string kind = scaled ? "_scaled" : "_plain";
    results.array("before" + kind, sum.reshape({8, d_model}));
    results.array("after" + kind, y.reshape({8, d_model}));
}
// [feed-forward]
void feed_forward(Results& results, Random random, Index d_model, Index d_ff) {
    section("Feed-forward");
    FeedForward ff(d_model, d_ff, false, random), with_bias(d_model, d_ff, true, random);
    const Tensor x = normal({1, 8, d_model}, random.stream());
    FeedForward::Cache cache;
    const Tensor y = ff.forward(x, &cache);
    const double percent = 100 * (vector(cache.hidden).array() == 0).cast<double>().mean();
    fmt::print("parameters: {} without biases, {} with biases\n", count_elements(parameters_of(ff)),
               count_elements(parameters_of(with_bias)));
    fmt::print("{:.1f} % of the hidden numbers are zero\n", percent);
    results.set("hidden_zeros", percent);
    fmt::print("mean square of the result: {:.4f}, expected 1/18 = {:.4f}\n",
               dot(y, y) / static_cast<double>(y.size()), 1.0 / 18);
    Tensor other = x.clone();
    matrix(other).row(4).array() += 1;
    const auto change = (matrix(ff.forward(other)) - matrix(y)).cwiseAbs().eval();
    fmt::print("the fifth word is changed; largest change of each word:");
    for (Index r = 0; r < 8; ++r) fmt::print(" {:.2f}", change.row(r).maxCoeff());
    fmt::print("\n");
    results.array("relu_before", ff.first.forward(x).reshape({8, d_ff}));
    results.array("relu_after", cache.hidden.reshape({8, d_ff}));
}
// [stack]
void stacks(Results& results, std::uint64_t seed, Index depth) {
    section("Post and pre in a deep stack");
    const Tensor post = by_depth(depth, NormPlacement::post, seed);
    const Tensor pre = by_depth(depth, NormPlacement::pre, seed);
    std::vector<Column> columns{{"layer", "5"}};
    for (auto* of : {"size, post", "pre", "gradient, post", "pre", "residual path, post", "pre"})
        columns.push_back({of, "7.3f"});
    Table table(results, columns);
    for (Index i = 0; i <= depth; i += depth / 6)
        table.row(i, i, post(0, i), pre(0, i), post(1, i), pre(1, i), post(2, i), pre(2, i));
    results.array("stack_post", post);
    results.array("stack_pre", pre);
    results.set("depth", depth);
    results.set("pre_size", pre(0, depth));
    results.set("pre_top", pre(1, depth));
    results.set("post_bottom", post(1, 0));
    results.set("post_residual", post(2, 0));
}
// [speed]
/// Times dropout, sum and norm, swish, and a linear map with ReLU, plain and fast.
void speed(Results& results, Random random) {
    section("Making it fast");
    AddNorm add_norm(512, {.dropout = Real(0.1)}, random), no_dropout(512, {}, random);
    LayerNorm norm(512);
    const Linear map(512, 2048, true, random);
    const auto rows_of = [&] { return normal({64, 24, 512}, random.stream()); };
    const Tensor x = rows_of(), s = rows_of(), dy = rows_of();
    std::map<Way, AddNorm::Cache> added, summed;  // backward runs the way of its cache
    std::map<Way, LayerNorm::Cache> normed;
    double difference = 0;
    GainTable table(results, "64 sentences of 24 words, width 512");
    const auto compare = [&](const char* what, const char* key, const auto& run) {
        Tensor y, fast;
        table.ways(what, key, [&] { (way() == Way::plain ? y : fast) = run(); });
        difference = std::max(difference, max_difference(y, fast));
    };
    compare("dropout, sum, norm", "add_norm", [&] { return add_norm.after(x, s, &added[way()]); });
    compare("  backward", "add_norm_backward",
            [&] { return add_norm.after_backward(dy, added[way()]).dsublayer; });
    compare("sum, norm", "sum_norm", [&] { return no_dropout.after(x, s, &summed[way()]); });
    compare("norm alone", "layer_norm", [&] { return norm.forward(x, &normed[way()]); });
    compare("  backward", "layer_norm_backward", [&] { return norm.backward(dy, normed[way()]); });
    compare("swish", "swish", [&] { return swish(x); });
    compare("  backward", "swish_backward", [&] { return swish_backward(dy, x); });
    compare("linear map to 2048 columns, ReLU", "relu", [&] { return linear_relu(x, map); });
    fmt::print("largest difference {:.1e}\n", difference);
    results.set_varying("speed_difference", difference);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    constexpr Index d_model = 512, d_ff = 2048, depth = 48;
    Program program("Run feed-forward, layer norm, and the residual connection around a sublayer");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        const Random random(program.seed());
        recipes(results);
        paths(results, random);
        for (bool scaled : {false, true}) keep_rows(results, random, d_model, d_ff, scaled);
        feed_forward(results, random, d_model, d_ff);
        stacks(results, program.seed(), depth);
        speed(results, random);
    });
}
