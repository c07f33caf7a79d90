#include <array>
#include <cmath>
#include <sstream>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/eigen.hpp"
#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "lib/program.hpp"
#include "lib/stopwatch.hpp"

using namespace abh;

namespace {
// [print]
/// Prints the rows of `t`, after a name that stands before the first one.
void print(const std::string& name, const Tensor& t, int digits) {
    for (Index r = 0; r < rows(t.shape()); ++r) {
        fmt::print("{:<22}", r == 0 ? name : "");
        for (Index c = 0; c < t.dim(-1); ++c) fmt::print(" {:6.{}f}", matrix(t)(r, c), digits);
        fmt::print("\n");
    }
}
// [by hand]
/// A query that has one tie to each of two words: one wide head cannot tell them apart, two can.
void by_hand() {
    section("Two heads by hand");
    const Real s = std::sqrt(Real(2)) * std::log(Real(3));  // e^(s / sqrt(2)) = 3
    const Tensor query({1, 1, 4}, {s, 0, 0, s});
    const Tensor words({1, 2, 4}, {1, 0, 1, 0,  //
                                   0, 1, 0, 1});
    for (Index n_heads : {1, 2}) {
        const Tensor q = split_heads(query, n_heads), k = split_heads(words, n_heads);
        Tensor weights;
        const Tensor y = join_heads(attention(q, k, k, {}, {}, nullptr, &weights));
        print(fmt::format("{} head{}: weights", n_heads, n_heads == 1 ? " " : "s"), weights, 3);
        print("         result", y, 3);
    }
}
// [joining]
/// The join, and what a bare reshape makes of the same memory.
void joining() {
    section("Joining");
    const Tensor x({1, 2, 4}, {1, 2, 3, 4,  //
                               5, 6, 7, 8});
    const Tensor heads = split_heads(x, 2);  // [1, 2, 2, 2]
    print("word by word", x, 0);
    print("in memory, by heads", heads, 0);
    print("joined", join_heads(heads), 0);
    print("bare reshape", heads.reshape(x.shape()), 0);
}
// [positions]
/// Two arrays for the figure: the position that each number comes from, joined and only reshaped.
void origin(const Results& results, Index length) {
    Tensor from({1, 4, length, 4});
    for (Index h = 0; h < 4; ++h)
        for (Index l = 0; l < length; ++l)
            for (Index d = 0; d < 4; ++d) from(Index{0}, h, l, d) = static_cast<Real>(l);
    results.array("joined", join_heads(from).reshape({length, 16}));
    results.array("reshaped", from.reshape({length, 16}));
}
// [head by head]
/// One head's own map: rows `h * d_k` to `(h + 1) * d_k - 1` of the large one.
Tensor one_head(const Linear& map, const Tensor& x, Index h, Index d_k) {
    Tensor y({1, 1, x.dim(1), d_k});
    matrix(y) = matrix(x) * matrix(map.weight.value).middleRows(h * d_k, d_k).transpose();
    if (map.has_bias())
        matrix(y).rowwise() += vector(map.bias.value).segment(h * d_k, d_k).transpose();
    return y;
}

/// Multi-head attention with nothing but chapter 4: y = b_O + sum over heads of context_h W_O,h.
Tensor head_by_head(const MultiHeadAttention& layer, const Tensor& x, const Mask& mask) {
    const auto& [d_model, n_heads, bias_qkv, bias_out, shared, attention_options] = layer.options();
    const Index d_k = d_model / n_heads;
    Tensor y = Tensor::zeros(x.shape());  // [1, L, d_model]
    for (Index h = 0; h < n_heads; ++h) {
        const Tensor q = one_head(layer.w_q, x, h, d_k), k = one_head(layer.w_k, x, h, d_k),
                     v = one_head(layer.w_v, x, h, d_k);  // [1, 1, L, d_k]
        const Tensor context = attention(q, k, v, over_heads(mask), attention_options);
        matrix(y) +=
            matrix(context) * matrix(layer.w_o.weight.value).middleCols(h * d_k, d_k).transpose();
    }
    if (bias_out) matrix(y).rowwise() += vector(layer.w_o.bias.value).transpose();
    return y;
}

void compare(Program& program, const Tensor& x, const Mask& mask, MultiHeadOptions options) {
    section("Head by head and all at once");
    for (bool bias : {false, true}) {
        options.bias_qkv = options.bias_out = bias;
        Random random(program.seed());
        const MultiHeadAttention layer(options, random);
        const Tensor y = layer.forward(x, x, x, mask);
        const double difference = max_difference(y, head_by_head(layer, x, mask));
        const double largest = vector(y).cwiseAbs().maxCoeff();
        const std::string name = bias ? "with biases" : "without biases";
        fmt::print("{:<15} largest result {:.3f}, largest difference {:.1e}\n", name, largest,
                   difference);
        program.results().set_varying(bias ? "difference_bias" : "difference", difference);
    }
}
// [maps]
/// What each head makes of one word of the sentence; the heads' maps go to the figure.
void maps(const Results& results, const MultiHeadAttention& layer, const Tensor& x,
          const Mask& mask, const std::string& sentence) {
    section("What each head sees from 好");
    Tensor weights;  // [1, H, L, L]
    layer.forward(x, x, x, mask, nullptr, &weights);
    fmt::print("head ");
    std::istringstream words(sentence);
    for (std::string word; words >> word;) fmt::print(" {:>6}", word);
    fmt::print("\n");
    for (Index h = 0; h < weights.dim(1); ++h) {
        fmt::print("{:>4} ", h + 1);
        for (Index j = 0; j < x.dim(1); ++j) fmt::print(" {:6.3f}", weights(0, h, 4, j));
        fmt::print("\n");
    }
    results.array("maps", weights.reshape({weights.dim(1), x.dim(1), x.dim(1)}));
}
// [shared]
/// `x` with the slices of its first two heads exchanged.
Tensor exchange_slices(const Tensor& x, Index d_k) {
    Tensor y = x.clone();
    matrix(y).leftCols(d_k) = matrix(x).middleCols(d_k, d_k);
    matrix(y).middleCols(d_k, d_k) = matrix(x).leftCols(d_k);
    return y;
}

/// Largest difference between the first head's map of `x` and the second head's map of the
/// exchanged input.
double exchanged_difference(const MultiHeadAttention& layer, const Tensor& x) {
    const Index d_k = layer.options().d_model / layer.options().n_heads;
    const Tensor other = exchange_slices(x, d_k);
    Tensor w, other_w;  // [1, H, L, L]
    layer.forward(x, x, x, {}, nullptr, &w);
    layer.forward(other, other, other, {}, nullptr, &other_w);
    const Index n = x.dim(1) * x.dim(1);
    return (vector(w).head(n) - vector(other_w).segment(n, n)).cwiseAbs().maxCoeff();
}

void parameters(Program& program, Index length) {
    section("Parameters");
    const auto show = [&](const std::string& name, const std::string& key,
                          const MultiHeadOptions& options) {
        Random random(program.seed());
        MultiHeadAttention layer(options, random);
        const auto count = static_cast<double>(count_elements(parameters_of(layer)));
        const Tensor x = normal({1, length, options.d_model}, random.stream());
        const double moved = exchanged_difference(layer, x);
        fmt::print("{:<36} {:>9}   slices exchanged: maps differ by {:.3f}\n", name, count, moved);
        program.results().set("parameters_" + key, count);
        program.results().set("moved_" + key, moved);
    };
    show("512 wide, 8 heads, no bias", "plain", {.bias_qkv = false, .bias_out = false});
    show("512 wide, 8 heads, all biases", "bias", {});
    MultiHeadOptions small{.d_model = 256, .bias_qkv = false};
    show("256 wide, 8 heads, bias in output", "own", small);
    small.shared_head_maps = true;
    small.attention.scale = Real(1) / 16;
    show("the same, one small map shared", "shared", small);
}
// [gradient]
/// The gradient of self-attention by hand and by differences, on odd sizes.
void gradient(Program& program) {
    section("The gradient of self-attention, in single precision");
    Random random(program.seed());
    MultiHeadAttention layer({.d_model = 6, .n_heads = 3}, random);
    const Tensor x = normal({2, 5, 6}, random.stream()), dy = normal({2, 5, 6}, random.stream());
    MultiHeadAttention::Cache cache;
    layer.forward(x, x, x, {}, &cache);
    const auto [dquery, dkey, dvalue] = layer.backward(dy, cache);
    const auto forward = [&] { return layer.forward(x, x, x, {}); };
    const auto show = [&](const std::string& name, const std::string& key, const Tensor& dx) {
        const double error = check_gradient(forward, x, dx, dy, 1e-2).relative;
        fmt::print("{:<24} relative error {:.1e}\n", name, error);
        program.results().set_varying(key, error);
    };
    show("dquery + dkey + dvalue", "gradient_error", dquery + dkey + dvalue);
    show("dquery + dkey", "gradient_error_no_value", dquery + dkey);
}
// [speed]
/// Attention with heads split, all weights stored, and heads joined; and by blocks.
struct TwoWays {
    Tensor q, k, v, dy;
    Mask mask;
    Index n_heads;
    AttentionCache cache = {};
    BlockAttentionCache block_cache = {};
    Tensor y = {}, block_y = {};
    AttentionGradients d = {}, block_d = {};

    void plain() {
        const auto split = [&](const Tensor& x) { return split_heads(x, n_heads); };
        y = join_heads(attention(split(q), split(k), split(v), mask, {}, &cache));
        const auto [dq, dk, dv] = attention_backward(split(dy), cache);
        d = {join_heads(dq), join_heads(dk), join_heads(dv)};
    }
    void by_blocks() {
        block_y = attention_by_blocks(q, k, v, n_heads, mask, {}, &block_cache);
        block_d = attention_by_blocks_backward(dy, block_cache);
    }
    double difference() const {
        return std::max({max_difference(y, block_y), max_difference(d.dq, block_d.dq),
                         max_difference(d.dk, block_d.dk), max_difference(d.dv, block_d.dv)});
    }
};
// [speed: show]
/// Forward and backward, the future hidden; 8 heads of 64 columns.
void speed(Program& program) {
    section("Making it fast");
    fmt::print("{:>9}{:>7}{:>11}{:>15}{:>8}{:>17}{:>11}\n", "sentences", "words", "plain: ms",
               "by blocks: ms", "ratio", "kept, MiB: plain", "by blocks");
    Random random(program.seed());
    double difference = 0;
    for (const auto& [batch, length] : {std::pair<Index, Index>{32, 24}, {6, 128}, {1, 512}}) {
        const auto rows_of = [&, shape = Shape{batch, length, 512}] {
            return normal(shape, random.stream());
        };
        const Tensor q = rows_of(), k = rows_of(), v = rows_of(), dy = rows_of();
        TwoWays ways{q, k, v, dy, over_heads(look_ahead_mask(Ids::zeros({1, length}))), 8};
        const Comparison times =
            take_turns({[&] { ways.plain(); }}, {[&] { ways.by_blocks(); }}, 5);
        const auto mib = [](Index numbers) {
            return static_cast<double>(numbers) * sizeof(Real) / (1 << 20);
        };
        const double plain = mib(4 * q.size() + ways.cache.weights.size());
        const double by_blocks = mib(4 * q.size() + 2 * ways.block_cache.total.size());
        fmt::print("{:>9}{:>7}{:>11.2f}{:>15.2f}{:>8.2f}{:>17.1f}{:>11.1f}\n", batch, length,
                   times.plain_ms, times.fast_ms, times.ratio, plain, by_blocks);
        difference = std::max(difference, ways.difference());
        program.results().set_varying(fmt::format("blocks_{}_gain", length), times.ratio);
        program.results().set(fmt::format("kept_{}_plain", length), plain);
        program.results().set(fmt::format("kept_{}_blocks", length), by_blocks);
        program.results().set(fmt::format("scores_{}_plain", length),
                              mib(ways.cache.weights.size()));
        program.results().set(fmt::format("scores_{}_blocks", length),
                              mib(2 * ways.block_cache.total.size()));
    }
    fmt::print("largest difference, of results and gradients: {:.1e}\n", difference);
    program.results().set_varying("blocks_difference", difference);
}
// [speed: three maps]
/// The maps of twelve layers, 512 wide: `q`, `k` and `v` of one `x`, and the sum of the gradients
/// that come back through them, product by product and together.
void three_maps(Program& program) {
    section("Three maps of one input");
    gain_header("12 layers, q, k, v and dx");
    Random random(program.seed());
    constexpr std::size_t layers = 12;
    std::vector<std::array<Tensor, 3>> weights(layers);
    for (auto& of_layer : weights)
        for (Tensor& w : of_layer) w = normal({512, 512}, random.stream());
    for (const Index rows : {1, 16, 768}) {
        const Tensor x = normal({rows, 512}, random.stream());
        std::array<Tensor, 3> y;
        Tensor dx;
        const auto one_by_one = [&] {
            for (const auto& w : weights) {
                for (std::size_t i = 0; i < 3; ++i) y[i] = matmul(x, w[i], {.transpose_b = true});
                dx = matmul(y[0], w[0]) + matmul(y[1], w[1]) + matmul(y[2], w[2]);
            }
        };
        const auto together = [&] {
            for (const auto& [q, k, v] : weights) {
                matmul_together(y, std::array<MatmulTerm, 3>{{{&x, &q}, {&x, &k}, {&x, &v}}},
                                {.transpose_b = true});
                dx = sum_of_products(
                    std::array<MatmulTerm, 3>{{{&y[0], &q}, {&y[1], &k}, {&y[2], &v}}});
            }
        };
        show_gain(rows == 1 ? "1 row" : fmt::format("{} rows", rows), fmt::format("maps_{}", rows),
                  15, one_by_one, together, program.results());
    }
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    MultiHeadOptions options{.bias_qkv = false, .bias_out = false};
    Program program("Multi-head attention: several attentions side by side.");
    program.app().add_option("--d-model", options.d_model, "width of a word's vector");
    program.app().add_option("--heads", options.n_heads, "number of heads; divides the width");
    return program.run(argc, argv, [&] {
        const std::string sentence = "我 有 一 个 好 朋 友 P";
        const Ids ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
        Random random(program.seed());
        const Embedding embedding(11, options.d_model, {}, random);
        const PositionalEncoding positions(options.d_model, {}, random);
        const Tensor x = positions.forward(embedding.forward(ids));  // [1, 8, d_model]
        const Mask mask = padding_mask(ids, ids);                    // [1, 8, 8]
        const MultiHeadAttention layer(options, random);

        by_hand();
        maps(program.results(), layer, x, mask, sentence);
        compare(program, x, mask, options);
        joining();
        origin(program.results(), x.dim(1));
        parameters(program, x.dim(1));
        gradient(program);
        speed(program);
        three_maps(program);
        program.results().set("words", sentence);
    });
}
