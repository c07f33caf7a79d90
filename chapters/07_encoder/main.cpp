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

/// The ids of `words` in the Chinese-English toy.
const Ids sentence({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
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

/// How many parameters the two sublayers of the toy have, for the figure.
void keep_parameters(EncoderLayer& layer, Results& results) {
    results.set("toy_attention", count(layer.self_attn));
    results.set("toy_ff", count(layer.ff));
}
// [statistics]
/// Statistics of the words' rows: mean norm of a row, mean cosine to the input, mean cosine between
/// two words.
Eigen::Array<double, 1, 3> statistics(const Tensor& y, const Tensor& input) {
    const double n = static_cast<double>(n_words);
    const auto words_of = [&](const Tensor& t) { return matrix(t).topRows(n_words).eval(); };
    const auto rows = words_of(y);
    const auto unit = rows.rowwise().normalized().eval();
    const auto unit_input = words_of(input).rowwise().normalized().eval();
    const auto cosines = (unit * unit.transpose()).eval();  // [words, words], 1 on the diagonal
    return {rows.rowwise().norm().mean(), unit.cwiseProduct(unit_input).sum() / n,
            (cosines.sum() - cosines.trace()) / (n * (n - 1))};
}
// [layer by layer]
/// Keeps statistics of the words' rows after each layer, and returns each layer's attention
/// weights, `[1, H, L, L]`.
std::vector<Tensor> keep_layers(const Encoder& encoder, const Tensor& x, const AttentionMask& mask,
                                Results& results) {
    const std::size_t n_layers = encoder.layers.size();
    Tensor kept({static_cast<Index>(n_layers) + 1, 3}), y = x;
    std::vector<Tensor> weights(n_layers);
    for (std::size_t i = 0; i <= n_layers; ++i) {
        if (i > 0) y = encoder.layers[i - 1].forward(y, mask, nullptr, &weights[i - 1]);
        const auto found = statistics(y, x);
        matrix(kept).row(static_cast<Index>(i)) = found.cast<Real>();
        if (i == n_layers) results.set("cos_input_6", found(1));
    }
    results.array("layers", kept);
    return weights;
}
// [weights]
/// Saves the weights of all heads for the figures.
void keep_weights(const std::vector<Tensor>& weights, Results& results) {
    const Index n_layers = static_cast<Index>(weights.size()), n_heads = weights[0].dim(1);
    Tensor all({n_layers, n_heads, 8, 8});
    for (Index i = 0; i < n_layers; ++i)
        std::ranges::copy(weights[static_cast<std::size_t>(i)].values(), &all(i, 0, 0, 0));
    results.array("weights", all);
    results.set("words", fmt::format("{}", fmt::join(words, " ")));
    results.set("pad_weight", matrix(all).rightCols(1).maxCoeff());
    results.set("n_weights", n_layers * n_heads);
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
/// Sends a random gradient back through the layers, from the last to the first, and keeps its size.
void keep_backward(Encoder& encoder, const Tensor& x, const AttentionMask& mask, Random& random,
                   Results& results) {
    Encoder::Cache cache;
    encoder.forward(x, mask, &cache);
    Tensor dx = normal(x.shape(), random.stream());
    const Index n_layers = static_cast<Index>(encoder.layers.size());
    Tensor norms({n_layers + 1});  // from the output down to the input
    norms(0) = static_cast<Real>(std::sqrt(dot(dx, dx)));
    if (encoder.norm) dx = encoder.norm->backward(dx, cache.norm);
    for (Index i = n_layers; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        dx = encoder.layers[at].backward(dx, cache.layers[at]);
        norms(n_layers - i) = static_cast<Real>(std::sqrt(dot(dx, dx)));
    }
    results.array("dx_norms", norms);
    results.set("dx_norm_6", norms(0));
    results.set("dx_norm_0", norms(n_layers));
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
        const AttentionMask mask = hide_pads(sentence);
        keep_parameters(encoder.layers[0], program.results());
        keep_weights(keep_layers(encoder, x, mask, program.results()), program.results());
        show_copies(encoder, norm, program.results());
        keep_backward(encoder, x, mask, random, program.results());
    });
}
