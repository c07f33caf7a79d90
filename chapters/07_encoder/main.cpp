#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/attention_mask.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "lib/eigen.hpp"
#include "lib/program/program.hpp"

using namespace abh;
// [sentence]
namespace {

const std::vector<std::string> words{"我", "有", "一", "个", "好", "朋", "友", "P"};
constexpr Index n_words = 7;  // without the pad

/// The ids of `words` in the Chinese-English toy, followed by more padding.
Ids sentence(Index more_pads = 0) {
    Ids ids = Ids::zeros({1, 8 + more_pads});
    for (std::int32_t i = 0; i < 7; ++i) ids(0, i) = i + 1;
    return ids;
}
// [sizes]
/// The toy's layer, with the norm after its sublayers or before them.
LayerOptions layer_of(const std::string& norm) {
    LayerOptions o = toy_layer();
    o.add_norm.placement = norm == "pre" ? NormPlacement::pre : NormPlacement::post;
    return o;
}
// [parameters]
template <class Part>
Index count(Part& part) {
    return count_elements(parameters_of(part));
}

void show_parameters(Results& results) {
    section("Parameters of one layer");
    Table table(results, {{"", "<26"},
                          {"attention", "9", "{}_attention"},
                          {"feed-forward", "12", "{}_ff"},
                          {"norms", "5"},
                          {"layer", "9", "{}_layer"}});
    const auto row = [&](const char* name, const char* key, const LayerOptions& options) {
        Random random(1);
        EncoderLayer layer(options, random);
        table.row(key, name, count(layer.self_attn), count(layer.ff),
                  count(layer.norm1.norm) + count(layer.norm2.norm), count(layer));
    };
    row("Chinese-English toy", "toy", toy_layer());
    row("German-English notebook", "notebook", notebook_layer());
    row("shared-head block", "block", shared_head_layer());
}
// [statistics]
/// Statistics of the words' rows: mean, standard deviation, mean norm of a row, mean cosine to the
/// input, mean cosine between two words.
Eigen::Array<double, 1, 5> statistics(const Tensor& y, const Tensor& input) {
    const double n = static_cast<double>(n_words);
    const auto words_of = [&](const Tensor& t) { return matrix(t).topRows(n_words).eval(); };
    const auto rows = words_of(y);
    const auto unit = rows.rowwise().normalized().eval();
    const auto unit_input = words_of(input).rowwise().normalized().eval();
    const auto cosines = (unit * unit.transpose()).eval();  // [words, words], 1 on the diagonal
    return {rows.mean(), std::sqrt((rows.array() - rows.mean()).square().mean()),
            rows.rowwise().norm().mean(), unit.cwiseProduct(unit_input).sum() / n,
            (cosines.sum() - cosines.trace()) / (n * (n - 1))};
}
// [layer by layer]
/// Prints statistics of the words' rows after each layer, and returns each layer's attention
/// weights, `[1, H, L, L]`.
std::vector<Tensor> show_layers(const Encoder& encoder, const Tensor& x, const AttentionMask& mask,
                                Results& results) {
    section("A sentence through the layers");
    const Index n_layers = static_cast<Index>(encoder.layers.size());
    Tensor kept({n_layers + 1, 3});
    Table table(results, {{"after", "<8"},
                          {"mean", "8.4f"},
                          {"std", "8.4f"},
                          {"row norm", "8.3f"},
                          {"cos to input", "12.4f", "cos_input_{}"},
                          {"cos between words", "17.4f", "cos_words_{}"}});
    const auto row = [&](Index layer, const Tensor& y) {
        const auto s = statistics(y, x);
        const double mean = std::abs(s(0)) < 5e-5 ? 0 : s(0);  // no "-0.0000"
        table.row(layer, layer == 0 ? "input" : fmt::format("layer {}", layer), mean, s(1), s(2),
                  s(3), s(4));
        matrix(kept).row(layer) = s.tail<3>().cast<Real>();
    };
    std::vector<Tensor> weights(encoder.layers.size());
    row(0, x);
    Tensor y = x;
    for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
        y = encoder.layers[i].forward(y, mask, nullptr, &weights[i]);
        row(static_cast<Index>(i) + 1, y);
    }
    results.array("layers", kept);
    return weights;
}
// [weights]
/// Prints the weights of one head, and saves the weights of all heads for the figures.
void show_weights(const std::vector<Tensor>& weights, Results& results) {
    section("Attention of layer 1, head 1");
    const Index n_layers = static_cast<Index>(weights.size()), n_heads = weights[0].dim(1);
    Tensor all({n_layers, n_heads, 8, 8});
    for (Index i = 0; i < n_layers; ++i)
        std::ranges::copy(weights[static_cast<std::size_t>(i)].values(), &all(i, 0, 0, 0));
    fmt::print("{:>6}", "");
    for (const std::string& word : words) fmt::print("{:>7}", word);
    for (std::size_t i = 0; i < 8; ++i) {
        fmt::print("\n{:>6}", words[i]);
        for (Index j = 0; j < 8; ++j) fmt::print("{:>7.3f}", all(0, 0, i, j));
    }
    fmt::print("\n");
    results.array("weights", all);
    results.set("words", fmt::format("{}", fmt::join(words, " ")));
    results.set("pad_weight", matrix(all).rightCols(1).maxCoeff());
    results.set("n_weights", static_cast<double>(n_layers * n_heads));
}
// [padding]
/// Appends pads, and prints how far the words' rows move, with and without the mask.
template <class Vectors>
void show_padding(const Encoder& encoder, const Vectors& vectors, Results& results) {
    section("More padding");
    Table table(results, {{"more pads", "9"},
                          varying("moved with mask", "18.1e", "moved_masked_{}"),
                          {"moved without mask", "18.4f", "moved_unmasked_{}"}});
    const auto encode = [&](const Ids& ids, bool masked) {
        const AttentionMask mask = masked ? hide_pads(ids) : AttentionMask();
        return matrix(encoder.forward(vectors(ids), mask)).topRows(n_words).eval();
    };
    const auto moved = [&](Index more, bool masked) {
        return (encode(sentence(more), masked) - encode(sentence(), masked)).cwiseAbs().maxCoeff();
    };
    for (const Index more : {1, 4, 12})
        table.row(more, more, moved(more, true), moved(more, false));
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
    table.row(0, "each layer constructed", count(encoder), count_stored(encoder.layers));
    table.row(1, "one layer copied", std::ssize(encoder.layers) * count(copies[0]),
              count_stored(copies));

    const Tensor& last = copies.back().ff.first.weight.value;
    fmt::print("\nWe write 42 into a weight of the first copy. In the last copy it was {:.4f} ",
               last(0, 0));
    copies.front().ff.first.weight.value(0, 0) = 42;
    fmt::print("before and is {:.4f} after.\n", last(0, 0));
}
// [backward]
/// Sends a random gradient back through the layers, from the last to the first.
void show_backward(Encoder& encoder, const Tensor& x, const AttentionMask& mask, Random& random,
                   Results& results) {
    section("A gradient on its way back");
    Encoder::Cache cache;
    encoder.forward(x, mask, &cache);
    Tensor dx = normal(x.shape(), random.stream());
    const Index n_layers = static_cast<Index>(encoder.layers.size());
    Tensor norms({n_layers + 1});  // from the output down to the input
    Table table(
        results,
        {{"below", "<10"}, {"norm of dx", "10.3f", "dx_norm_{}"}, {"norm of all dW", "14.3f"}});
    norms(0) = static_cast<Real>(std::sqrt(dot(dx, dx)));
    table.row(n_layers, "(output)", norms(0), "");
    if (encoder.norm) dx = encoder.norm->backward(dx, cache.norm);
    for (Index i = n_layers; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        dx = encoder.layers[at].backward(dx, cache.layers[at]);
        norms(n_layers - i) = static_cast<Real>(std::sqrt(dot(dx, dx)));
        table.row(i, fmt::format("layer {}", i + 1), norms(n_layers - i),
                  grad_norm(parameters_of(encoder.layers[at])));
    }
    results.array("dx_norms", norms);
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

        const auto vectors = [&](const Ids& ids) {
            return positions.forward(embedding.forward(ids));
        };
        const Tensor x = vectors(sentence());  // [1, 8, d_model]
        const AttentionMask mask = hide_pads(sentence());
        show_parameters(program.results());
        show_weights(show_layers(encoder, x, mask, program.results()), program.results());
        show_padding(encoder, vectors, program.results());
        show_copies(encoder, norm, program.results());
        show_backward(encoder, x, mask, random, program.results());
    });
}
