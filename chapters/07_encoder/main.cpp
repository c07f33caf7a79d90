#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/attention_mask.hpp"
#include "chapters/07_encoder/by_hand.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [sentence]
namespace {

/// The ids of 我 有 一 个 好 朋 友 P in the Chinese-English toy.
const Ids sentence({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
// [sizes]
/// The toy's layer, with the norm after its sublayers or before them.
LayerOptions layer_of(const std::string& norm) {
    LayerOptions o = toy_layer();
    o.add_norm.placement = norm == "pre" ? NormPlacement::pre : NormPlacement::post;
    return o;
}
// [rounds]
/// How much the rows of 好, 朋 and 友 hold of each, at the start and after two rounds, if each word
/// adds the row of the next one to its own, and the last one adds its own.
void keep_rounds(Results& results) {
    Tensor rows = Tensor::zeros({3, 3, 3});  // [round, word, holds]
    for (Index w = 0; w < 3; ++w) rows(0, w, w) = 1;
    for (Index r = 1; r < 3; ++r)
        for (Index w = 0; w < 3; ++w)
            for (Index h = 0; h < 3; ++h)
                rows(r, w, h) = rows(r - 1, w, h) + rows(r - 1, std::min(w + 1, Index(2)), h);
    results.array("rounds", rows);
}
// [by hand]
/// Keeps tensors of one shape as one array.
void keep(const std::string& name, const std::vector<Tensor>& tensors, Results& results) {
    Tensor all({std::ssize(tensors), tensors[0].size()});
    for (Index i = 0; i < std::ssize(tensors); ++i)
        std::ranges::copy(tensors[static_cast<std::size_t>(i)].values(), &all(i, 0));
    results.array(name, all);
}

/// The numbers of a word's row, which are whole up to the norm's epsilon.
std::string whole(const Tensor& t, Index word) {
    std::string text;
    for (Index c = 0; c < t.dim(2); ++c)
        text += fmt::format("{:2.0f}  ", std::round(t(0, word, c)) + Real(0));  // no -0
    return text;
}

/// The layer for pen and paper: shows each step forward, and keeps each step of both passes.
void show_by_hand(Results& results) {
    section("A layer by hand");
    Random random(1);
    EncoderLayer layer = example::layer_by_hand(random);
    const Tensor &x = example::x_by_hand, &dy = example::dy_by_hand;
    const Tensor f1 = layer.self_attn.forward(x, x, x, {}), x1 = layer.norm1.after(x, f1),
                 f2 = layer.ff.forward(x1), y = layer.norm2.after(x1, f2);
    const std::vector<Tensor> steps{x, f1, x + f1, x1, f2, x1 + f2, y};
    const std::array names{
        "x",           "f1 = attention(x)", "x + f1",           "x1 = norm(x + f1)",
        "f2 = ff(x1)", "x1 + f2",           "y = norm(x1 + f2)"};
    Table table(results, {{"", "<20"}, {"朋", "<20"}, {"友", "<20"}});
    for (std::size_t i = 0; i < steps.size(); ++i)
        table.row(i, names[i], whole(steps[i], 0), whole(steps[i], 1));
    keep("hand_forward", steps, results);

    EncoderLayer::Cache cache;
    layer.forward(x, {}, &cache);
    const auto [dsum2, df2] = layer.norm2.after_backward(dy, cache.norm2);
    const Tensor dh2 = layer.ff.backward(df2, cache.ff), dx1 = dsum2 + dh2;
    const auto [dsum1, df1] = layer.norm1.after_backward(dx1, cache.norm1);
    const auto [dq, dk, dv] = layer.self_attn.backward(df1, cache.self_attn);
    const Tensor dh1 = dq + dk + dv;
    keep("hand_backward", {dsum1 + dh1, dh1, dsum1, dx1, dh2, dsum2, dy}, results);

    Tensor raised = x.clone();
    raised(0, 0, 0) += Real(0.01);
    results.set("hand_raised", dot(layer.forward(raised, {}), dy) - dot(y, dy));
}
// [copies]
/// How many numbers are really stored; parameters that share their elements count once.
Index count_stored(std::vector<EncoderLayer>& layers) {
    std::set<const Real*> seen;
    Index sum = 0;
    for (EncoderLayer& layer : layers)
        for (const auto& [name, p] : parameters_of(layer))
            if (seen.insert(p->value.data()).second) sum += p->value.size();
    return sum;
}

void show_copies(Encoder& encoder, const std::string& norm, Results& results) {
    section("Six layers, or one layer six times");
    Random random(1);
    std::vector<EncoderLayer> copies(encoder.layers.size(), EncoderLayer(layer_of(norm), random));
    Table table(results, {{"", "<30"}, {"counted", "12"}, {"stored", "12"}});
    table.row(0, "each layer constructed", count_elements(parameters_of(encoder)),
              count_stored(encoder.layers));
    table.row(1, "one layer copied",
              std::ssize(encoder.layers) * count_elements(parameters_of(copies[0])),
              count_stored(copies));
}
// [six layers]
/// Sends a gradient down through all layers, and keeps how long it is above and below each.
template <class Down>
void keep_lengths(const std::string& name, Index n_layers, Tensor dx, const Down& down,
                  Results& results) {
    Tensor lengths({n_layers + 1});
    const auto length = [&] { return static_cast<Real>(std::sqrt(dot(dx, dx))); };
    lengths(n_layers) = length();
    for (Index i = n_layers; i-- > 0; lengths(i) = length())
        dx = down(static_cast<std::size_t>(i), dx);
    results.array(name + "dx_norms", lengths);
    for (const Index i : {Index(0), n_layers})
        results.set(fmt::format("{}dx_norm_{}", name, i), lengths(i));
}

/// The encoder as it is, and its sublayers alone: each replaces what it reads, without sum and
/// norm.
void keep_six(Encoder& encoder, const Tensor& x, const AttentionMask& mask, const Tensor& dy,
              Results& results) {
    const std::size_t n = encoder.layers.size();
    Encoder::Cache cache;
    encoder.forward(x, mask, &cache);
    const auto down = [&](std::size_t i, const Tensor& d) {
        const bool last = i + 1 == n && encoder.norm;
        return encoder.layers[i].backward(last ? encoder.norm->backward(d, cache.norm) : d,
                                          cache.layers[i]);
    };
    keep_lengths("", std::ssize(encoder.layers), dy, down, results);

    std::vector<EncoderLayer::Cache> alone(n);
    Tensor y = x;
    for (std::size_t i = 0; i < n; ++i) {
        const EncoderLayer& layer = encoder.layers[i];
        const Tensor f = layer.self_attn.forward(y, y, y, mask, &alone[i].self_attn);
        y = layer.ff.forward(f, &alone[i].ff);
    }
    const auto down_alone = [&](std::size_t i, const Tensor& d) {
        EncoderLayer& layer = encoder.layers[i];
        const auto [dq, dk, dv] =
            layer.self_attn.backward(layer.ff.backward(d, alone[i].ff), alone[i].self_attn);
        return dq + dk + dv;
    };
    keep_lengths("alone_", std::ssize(encoder.layers), dy, down_alone, results);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    std::string norm = "post";
    Program program("Send a Chinese sentence through an encoder with random weights");
    program.options()
        .add("--norm", norm, "layer norm after (post) or before (pre) each sublayer")
        .one_of({"post", "pre"});
    return program.run(argc, argv, [&] {
        Random random(program.seed());
        Embedding embedding(11, 512, {}, random);
        PositionalEncoding positions(512, {.max_len = 100}, random);
        Encoder encoder(layer_of(norm), 6, random);

        const Tensor x = positions.forward(embedding.forward(sentence));  // [1, 8, d_model]
        keep_rounds(program.results());
        show_by_hand(program.results());
        show_copies(encoder, norm, program.results());
        keep_six(encoder, x, hide_pads(sentence), normal(x.shape(), random.stream()),
                 program.results());
    });
}
