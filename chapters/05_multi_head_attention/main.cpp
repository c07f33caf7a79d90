#include <array>
#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/head_by_head.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"
#include "lib/way.hpp"

using namespace abh;

namespace {
// [print]
/// Prints the rows of `t`, with the name in front of the first one.
void print(const std::string& name, const Tensor& t) {
    for (Index r = 0; r < rows(t.shape()); ++r) {
        fmt::print("{:<20}", r == 0 ? name : "");
        for (Index c = 0; c < t.dim(-1); ++c) fmt::print(" {:5.2f}", matrix(t)(r, c));
        fmt::print("\n");
    }
}
// [by hand]
/// A query that asks two questions: one head answers with a mean, and no price moves its query; two
/// heads keep the answers apart.
void by_hand(const Results& results) {
    section("Two heads by hand");
    const Real r = std::sqrt(Real(2)) * std::log(Real(3));  // e^(r / sqrt(2)) = 3
    const Tensor query({1, 1, 4}, {r, 0, 0, r}), price({1, 1, 4}, {0, 4, 4, 0});
    const Tensor words({1, 2, 4}, {1, 0, 1, 0,  //
                                   0, 1, 0, 1});
    for (Index n_heads : {1, 2}) {
        const Tensor q = split_heads(query, n_heads), k = split_heads(words, n_heads);
        Tensor weights;
        AttentionCache cache;
        const Tensor y = join_heads(attention(q, k, k, {}, {}, &cache, &weights));
        const auto gradients = attention_backward(split_heads(price, n_heads), cache);
        print(n_heads == 1 ? "1 head:  weights" : "2 heads: weights", weights);
        print("         result", y);
        print("         dQ", join_heads(gradients.dq));
        results.array(fmt::format("by_hand_{}", n_heads), weights.reshape({n_heads, 2}));
    }
}
// [comparison]
void compare(const MultiHeadAttention& layer, const Tensor& x, const Mask& mask, Results& results) {
    section("Head by head and all at once");
    const double difference =
        max_difference(layer.forward(x, x, x, mask), head_by_head(layer, x, mask));
    fmt::print("largest difference {:.1e}\n", difference);
    results.set_varying("difference", difference);
}
// [shared]
/// Largest difference between the first head's weights for `x` and the second head's weights for
/// `x` with its first two slices exchanged.
double exchanged_difference(const MultiHeadAttention& layer, const Tensor& x) {
    const Index d_k = layer.options().d_model / layer.options().n_heads, n = x.dim(1) * x.dim(1);
    Tensor other = x.clone();
    for (const auto& [to, from] : {std::pair<Index, Index>{0, d_k}, {d_k, 0}})
        matrix(other).middleCols(to, d_k) = matrix(x).middleCols(from, d_k);
    Tensor w, other_w;  // [1, H, L, L]
    layer.forward(x, x, x, {}, nullptr, &w);
    layer.forward(other, other, other, {}, nullptr, &other_w);
    return (vector(w).head(n) - vector(other_w).segment(n, n)).cwiseAbs().maxCoeff();
}

void parameters(Program& program, Index length) {
    section("Parameters");
    fmt::print("{:46}   slices 0 and 1 exchanged:\n", "");
    fmt::print("{:>46}   head 1's attention weights differ from head 0's by\n", "parameters");
    const auto show = [&](const std::string& name, const MultiHeadOptions& options) {
        Random random(program.seed());
        MultiHeadAttention layer(options, random);
        const Index count = count_elements(parameters_of(layer));
        const Tensor x = normal({1, length, options.d_model}, random.stream());
        const double moved = exchanged_difference(layer, x);
        fmt::print("{:<36} {:>9}   {:.3f}\n", name, count, moved);
    };
    show("512 wide, 8 heads, no bias", {.bias_qkv = false, .bias_out = false});
    show("512 wide, 8 heads, all biases", {});
    MultiHeadOptions small{.d_model = 256, .bias_qkv = false};
    show("256 wide, 8 heads, bias in output", small);
    small.shared_head_projections = true;
    small.attention.scale = Real(1) / 16;
    show("the same, one projection shared", small);
}
// [gradient]
/// Compares the gradient of self-attention, with and without dvalue, with finite differences.
void gradient(Program& program) {
    section("The gradient of self-attention, in single precision");
    Random random(program.seed());
    MultiHeadAttention layer({.d_model = 6, .n_heads = 3}, random);
    const Tensor x = normal({2, 5, 6}, random.stream()), dy = normal({2, 5, 6}, random.stream());
    MultiHeadAttention::Cache cache;
    layer.forward(x, x, x, {}, &cache);
    const auto [dquery, dkey, dvalue] = layer.backward(dy, cache);
    const auto forward = [&] { return layer.forward(x, x, x, {}); };
    const double all = check_gradient(forward, x, dquery + dkey + dvalue, dy, 1e-2).relative,
                 two = check_gradient(forward, x, dquery + dkey, dy, 1e-2).relative;
    fmt::print("dquery + dkey + dvalue   relative error {:.1e}\n", all);
    fmt::print("dquery + dkey            relative error {:.1e}\n", two);
    program.results().set_varying("gradient_error", all);
    program.results().set_varying("gradient_error_no_value", two);
}
// [speed]
/// Times forward and backward of 8 heads of 64 columns, future hidden, and counts what is kept.
void speed(Program& program) {
    section("Making it fast");
    GainTable gains(program.results(), "attention of all heads");
    Random random(program.seed());
    double difference = 0;
    std::vector<std::array<Index, 4>> kept;  // length; numbers kept by both, by plain, by blockwise
    for (const auto& [batch, length] : {std::pair<Index, Index>{32, 24}, {6, 128}, {1, 512}}) {
        const auto drawn = [&, shape = Shape{batch, length, 512}] {
            return normal(shape, random.stream());
        };
        const Tensor q = drawn(), k = drawn(), v = drawn(), dy = drawn();
        AttendHeadsCache caches[2];      // plain, fast
        std::array<Tensor, 4> found[2];  // result and gradients
        const auto both_passes = [&] {
            const bool fast = way() != Way::plain;
            const Tensor y = attend_heads(q, k, v, 8, hide_future(), {}, &caches[fast]);
            const auto [dq, dk, dv] = attend_heads_backward(dy, caches[fast]);
            found[fast] = {y, dq, dk, dv};
        };
        gains.ways(fmt::format("{} x {} words", batch, length), fmt::format("blocks_{}", length),
                   both_passes);
        for (std::size_t i = 0; i < 4; ++i)
            difference = std::max(difference, max_difference(found[0][i], found[1][i]));
        const auto& plain = std::get<AttentionCache>(caches[0].kept);
        const auto& blockwise = std::get<BlockwiseCache>(caches[1].kept);
        kept.push_back({length, 4 * q.size(), plain.weights.size(),
                        blockwise.row_max.size() + blockwise.row_sum.size()});
    }
    fmt::print("largest difference, of results and gradients: {:.1e}\n\n", difference);
    program.results().set_varying("blocks_difference", difference);
    Table table(program.results(), {{"words", "12"},
                                    {"MiB kept: plain", "15.1f", "kept_{}_plain"},
                                    {"fast", "8.1f", "kept_{}_blocks"},
                                    {"for weights: plain", "18.1f", "scores_{}_plain"},
                                    {"fast", "8.2f", "scores_{}_blocks"}});
    const auto mib = [](Index n) { return static_cast<double>(n) * sizeof(Real) / (1 << 20); };
    for (const auto& [length, both, plain, blockwise] : kept)
        table.row(length, length, mib(both + plain), mib(both + blockwise), mib(plain),
                  mib(blockwise));
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    const MultiHeadOptions options{.bias_qkv = false, .bias_out = false};
    Program program("Run multi-head attention: several attentions side by side");
    return program.run(argc, argv, [&] {
        const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
        Random random(program.seed());
        const Embedding embedding(11, options.d_model, {}, random);
        const PositionalEncoding positions(options.d_model, {}, random);
        const Tensor x = positions.forward(embedding.forward(ids));  // [1, 8, d_model]
        const Mask mask = padding_mask(ids, ids);                    // [1, 8, 8]
        const MultiHeadAttention layer(options, random);

        by_hand(program.results());
        compare(layer, x, mask, program.results());
        parameters(program, x.dim(1));
        gradient(program);
        speed(program);
    });
}
