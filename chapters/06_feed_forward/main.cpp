#include <map>
#include <vector>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/experiments.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "lib/eigen.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

using namespace abh;

namespace {
// [phrases]
void phrases(Results& results, std::uint64_t seed) {
    section("Good, bad, not good, not bad");
    constexpr int starts = 100;
    Table table(results, {{"hidden units", "12"},
                          varying("of 100 starts, all four right", "28", "phrases_{}")});
    for (Index d_ff : {1, 2, 4, 8, 16}) {
        int right = 0;
        for (int i = 0; i < starts; ++i) {
            const Tensor said = learn_phrases(d_ff, seed + static_cast<std::uint64_t>(i));
            right += max_difference(said, Tensor({4}, {0, 1, 1, 0})) < Real(0.1);
        }
        table.row(d_ff, d_ff, right);
    }
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
    fmt::print("{:.1f} % of the hidden units are zero\n", percent);
    results.set("hidden_zeros", percent);
    fmt::print("mean square of the result: {:.4f}, expected 1/18 = {:.4f}\n",
               dot(y, y) / static_cast<double>(y.size()), 1.0 / 18);
    Tensor other = x.clone();
    matrix(other).row(4).array() += 1;
    const auto change = (matrix(ff.forward(other)) - matrix(y)).cwiseAbs().eval();
    fmt::print("the fifth word is changed; largest change of each word:");
    for (Index r = 0; r < 8; ++r) fmt::print(" {:.2f}", change.row(r).maxCoeff());
    fmt::print("\n");
}
// [stack]
void stacks(Results& results, std::uint64_t seed, Index depth) {
    section("Four stacks");
    Table table(results, {{"around", "<14"},
                          {"size", "7.2g"},
                          {"gradient", "8.2g"},
                          varying("alike", "5.2f", "{}_alike"),
                          {"x 3: size", "9.2g"},
                          {"gradient", "8.2g"},
                          varying("alike", "5.2f", "{}_larger_alike")});
    const auto stack = [&](const char* what, const char* key, bool adds, NormAt norm) {
        const Tensor found = by_depth(depth, {adds, norm}, seed);
        const Tensor larger = by_depth(depth, {adds, norm, 3}, seed);
        table.row(key, what, found(0, depth), found(1, 0), found(3, depth), larger(0, depth),
                  larger(1, 0), larger(3, depth));
        results.array(fmt::format("stack_{}", key), found);
    };
    stack("nothing", "nothing", false, NormAt::nowhere);
    stack("norm alone", "norm", false, NormAt::after);
    stack("residual alone", "sum", true, NormAt::nowhere);
    stack("both", "post", true, NormAt::after);

    section("Post and pre in a deep stack");
    const Tensor post = by_depth(depth, {true, NormAt::after}, seed);
    const Tensor pre = by_depth(depth, {true, NormAt::before}, seed);
    std::vector<Column> columns{{"layer", "5"}};
    for (auto* of : {"size, post", "pre", "gradient, post", "pre", "residual path, post", "pre"})
        columns.push_back({of, "7.3f"});
    Table sizes(results, columns);
    for (Index i = 0; i <= depth; i += depth / 6)
        sizes.row(i, i, post(0, i), pre(0, i), post(1, i), pre(1, i), post(2, i), pre(2, i));
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
        phrases(results, program.seed());
        feed_forward(results, random, d_model, d_ff);
        stacks(results, program.seed(), depth);
        speed(results, random);
    });
}
