#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "lib/eigen.hpp"
#include "lib/program.hpp"

using namespace abh;
// [sentence]
namespace {

const std::vector<std::string> words{"我", "有", "一", "个", "好", "朋", "友", "P"};

/// The ids of `words` in the Chinese-English toy, followed by more padding.
Ids sentence(Index more_pads = 0) {
    Ids ids = Ids::zeros({1, 8 + more_pads});
    for (std::int32_t i = 0; i < 7; ++i) ids(0, i) = i + 1;
    return ids;
}
// [sizes]
struct Sizes {
    Index n_layers = 6, d_model = 512, n_heads = 8, d_ff = 2048;
    std::string norm = "post";
};

/// The toy's layer, in other sizes if so wished.
LayerOptions layer_of(const Sizes& sizes) {
    LayerOptions o = toy_layer();
    o.attention.d_model = sizes.d_model;
    o.attention.n_heads = sizes.n_heads;
    o.d_ff = sizes.d_ff;
    o.add_norm.placement = sizes.norm == "pre" ? NormPlacement::pre : NormPlacement::post;
    return o;
}
// [parameters]
template <class Part>
Index count(Part& part) {
    return count_elements(parameters_of(part));
}

void show_parameters(const Sizes& sizes, Results& results) {
    section("Parameters of one layer");
    fmt::print("{:28}{:>11}{:>14}{:>7}{:>11}\n", "", "attention", "feed-forward", "norms", "layer");
    const auto row = [&](const char* name, const std::string& key, const LayerOptions& options) {
        Random random(1);
        EncoderLayer layer(options, random);
        const Index norms = count(layer.norm1.norm) + count(layer.norm2.norm);
        fmt::print("{:28}{:>11}{:>14}{:>7}{:>11}\n", name, count(layer.self_attn), count(layer.ff),
                   norms, count(layer));
        results.set(key + "_layer", static_cast<double>(count(layer)));
        results.set(key + "_attention", static_cast<double>(count(layer.self_attn)));
        results.set(key + "_ff", static_cast<double>(count(layer.ff)));
    };
    row("this program", "own", layer_of(sizes));
    row("Chinese-English toy", "toy", toy_layer());
    row("German-English notebook", "notebook", notebook_layer());
    row("shared-head block", "block", shared_head_layer());
}
// [statistics]
constexpr Index n_words = 7;

/// What we look at in the output of a layer, over the rows of the words; pads are left out.
struct Statistics {
    double mean, stddev, row_norm, cos_input, cos_words;
};

Statistics statistics(const Tensor& y, const Tensor& input) {
    const auto words_of = [](const Tensor& t) { return matrix(t).topRows(n_words).eval(); };
    const auto rows = words_of(y);
    const auto unit = rows.rowwise().normalized().eval();
    const auto unit_input = words_of(input).rowwise().normalized().eval();
    const auto cosines = (unit * unit.transpose()).eval();  // [words, words], 1 on the diagonal
    return {rows.mean(), std::sqrt((rows.array() - rows.mean()).square().mean()),
            rows.rowwise().norm().mean(), unit.cwiseProduct(unit_input).sum() / n_words,
            (cosines.sum() - cosines.trace()) / (n_words * (n_words - 1))};
}
// [layer by layer]
/// Prints what each layer makes of the words, and returns its attention weights, `[1, H, L, L]`.
std::vector<Tensor> show_layers(const Encoder& encoder, const Tensor& x, const Mask& mask,
                                Results& results) {
    section("A sentence through the layers");
    fmt::print("{:>8}{:>9}{:>9}{:>11}{:>15}{:>19}\n", "after", "mean", "std", "row norm",
               "cos to input", "cos between words");
    const Index n_layers = static_cast<Index>(encoder.layers.size());
    Tensor table({n_layers + 1, 3});
    const auto row = [&](Index layer, const Tensor& y) {
        const Statistics s = statistics(y, x);
        const std::string name = layer == 0 ? "input" : fmt::format("layer {}", layer);
        const double mean = std::abs(s.mean) < 5e-5 ? 0 : s.mean;  // no "-0.0000"
        fmt::print("{:>8}{:>9.4f}{:>9.4f}{:>11.3f}{:>15.4f}{:>19.4f}\n", name, mean, s.stddev,
                   s.row_norm, s.cos_input, s.cos_words);
        table(layer, 0) = static_cast<Real>(s.row_norm);
        table(layer, 1) = static_cast<Real>(s.cos_input);
        table(layer, 2) = static_cast<Real>(s.cos_words);
    };

    std::vector<Tensor> maps(encoder.layers.size());
    Tensor y = x;
    row(0, y);
    for (Index i = 0; i < n_layers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        y = encoder.layers[at].forward(y, mask, nullptr, &maps[at]);
        row(i + 1, y);
    }
    results.array("layers", table);
    const std::array<std::string, 3> names{"row_norm", "cos_input", "cos_words"};
    for (Index i = 0; i < 3; ++i) {
        results.set(names[static_cast<std::size_t>(i)] + "_first", table(0, i));
        results.set(names[static_cast<std::size_t>(i)] + "_last", table(n_layers, i));
    }
    return maps;
}
// [maps]
/// Prints one map, and gives all of them to the figures.
void show_maps(const std::vector<Tensor>& maps, Results& results) {
    section("Attention of layer 1, head 1");
    const Index n_layers = static_cast<Index>(maps.size()), n_heads = maps[0].dim(1);
    Tensor all({n_layers, n_heads, 8, 8});
    for (Index i = 0; i < n_layers; ++i) {
        const Tensor& map = maps[static_cast<std::size_t>(i)];
        std::copy(map.values().begin(), map.values().end(), &all(i, 0, 0, 0));
    }
    fmt::print("{:>6}", "");
    for (const std::string& word : words) fmt::print("{:>7}", word);
    for (std::size_t i = 0; i < 8; ++i) {
        fmt::print("\n{:>6}", words[i]);
        for (Index j = 0; j < 8; ++j) fmt::print("{:>7.3f}", all(0, 0, i, j));
    }
    fmt::print("\n");
    results.array("maps", all);
    results.set("words", fmt::format("{}", fmt::join(words, " ")));
    Real pad_weight = 0;
    for (Index i = 0; i < all.size(); i += 8) pad_weight = std::max(pad_weight, all.data()[i + 7]);
    results.set("pad_weight", pad_weight);
    results.set("n_maps", static_cast<double>(n_layers * n_heads));
}
// [padding]
/// Appends pads: how far do the rows of the words move, with and without the mask?
template <class Encode>
void show_padding(const Encode& encode, Results& results) {
    section("More padding");
    fmt::print("{:>10}{:>20}{:>20}\n", "more pads", "moved with mask", "moved without mask");
    const auto words_only = [&](Index more, bool masked) -> Tensor {
        const Tensor y = encode(sentence(more), masked);
        Tensor rows({n_words, y.dim(2)});
        matrix(rows) = matrix(y).topRows(n_words);
        return rows;
    };
    for (const Index more : {1, 4, 12}) {
        const double with = max_difference(words_only(0, true), words_only(more, true));
        const double without = max_difference(words_only(0, false), words_only(more, false));
        fmt::print("{:>10}{:>20.1e}{:>20.4f}\n", more, with, without);
        results.set_varying(fmt::format("moved_masked_{}", more), with);
        results.set(fmt::format("moved_unmasked_{}", more), without);
    }
}
// [copies]
/// How many numbers the parameters really hold, where several may share their elements.
template <class Layers>
Index count_stored(Layers& layers) {
    std::map<const Real*, Index> blocks;
    for (EncoderLayer& layer : layers)
        for (const NamedParameter& p : parameters_of(layer))
            blocks[p.parameter->value.data()] = p.parameter->value.size();
    Index sum = 0;
    for (const auto& [block, size] : blocks) sum += size;
    return sum;
}

void show_copies(Encoder& encoder, const Sizes& sizes, Results& results) {
    section("Six layers, or one layer six times");
    Random random(1);
    std::vector<EncoderLayer> copies(encoder.layers.size(), EncoderLayer(layer_of(sizes), random));
    Index counted = 0;
    for (EncoderLayer& layer : copies) counted += count(layer);
    fmt::print("{:32}{:>14}{:>14}\n", "", "counted", "stored");
    fmt::print("{:32}{:>14}{:>14}\n", "each layer constructed", count(encoder),
               count_stored(encoder.layers));
    fmt::print("{:32}{:>14}{:>14}\n", "one layer copied", counted, count_stored(copies));

    Tensor &first = copies.front().ff.first.weight.value,
           &last = copies.back().ff.first.weight.value;
    const Real before = last(0, 0);
    first(0, 0) = 42;
    fmt::print(
        "\nWe write 42 into a weight of the first copy. In the last one it was {:.4f}, and is "
        "{:.4f}.\n",
        before, last(0, 0));
    results.set("counted", static_cast<double>(counted));
    results.set("stored_encoder", static_cast<double>(count_stored(encoder.layers)));
    results.set("stored_copies", static_cast<double>(count_stored(copies)));
    results.set("last_copy_reads", last(0, 0));
}
// [backward]
/// Sends a random gradient back through the layers, from the last to the first.
void show_backward(Encoder& encoder, const Tensor& x, const Mask& mask, Random& random,
                   Results& results) {
    section("A gradient on its way back");
    fmt::print("{:>16}{:>14}{:>24}\n", "below", "norm of dx", "norm of all dW");
    Encoder::Cache cache;
    encoder.forward(x, mask, &cache);
    Tensor dx = normal(x.shape(), random.stream());
    std::vector<double> norms{std::sqrt(dot(dx, dx))};
    fmt::print("{:>16}{:>14.3f}\n", "(output)", norms[0]);
    if (encoder.norm) dx = encoder.norm->backward(dx, cache.norm);
    for (std::size_t i = encoder.layers.size(); i-- > 0;) {
        dx = encoder.layers[i].backward(dx, cache.layers[i]);
        norms.push_back(std::sqrt(dot(dx, dx)));
        fmt::print("{:>16}{:>14.3f}{:>24.3f}\n", fmt::format("layer {}", i + 1), norms.back(),
                   grad_norm(parameters_of(encoder.layers[i])));
    }
    Tensor kept({static_cast<Index>(norms.size())});
    std::copy(norms.begin(), norms.end(), kept.data());
    results.array("dx_norms", kept);
    results.set("dx_norm_output", norms.front());
    results.set("dx_norm_input", norms.back());
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Sizes sizes;
    Program program("Send a Chinese sentence through an encoder with random weights.");
    program.app().add_option("--layers", sizes.n_layers, "number of layers");
    program.app().add_option("--d-model", sizes.d_model, "width of a vector");
    program.app().add_option("--heads", sizes.n_heads, "number of heads");
    program.app().add_option("--d-ff", sizes.d_ff, "width inside the feed-forward network");
    program.app()
        .add_option("--norm", sizes.norm, "layer norm after (post) or before (pre) sublayers")
        ->check(CLI::IsMember({"post", "pre"}));
    return program.run(argc, argv, [&] {
        Random random(program.seed());
        Embedding embedding(11, sizes.d_model, {}, random);
        PositionalEncoding positions(sizes.d_model, {.max_len = 100}, random);
        Encoder encoder(layer_of(sizes), sizes.n_layers, random);

        const auto vectors = [&](const Ids& ids) {
            return positions.forward(embedding.forward(ids));
        };
        const auto encode = [&](const Ids& ids, bool masked) {
            return encoder.forward(vectors(ids), masked ? padding_mask(ids, ids) : Mask());
        };
        const Tensor x = vectors(sentence());                    // [1, 8, d_model]
        const Mask mask = padding_mask(sentence(), sentence());  // [1, 8, 8]

        show_parameters(sizes, program.results());
        show_maps(show_layers(encoder, x, mask, program.results()), program.results());
        show_padding(encode, program.results());
        show_copies(encoder, sizes, program.results());
        show_backward(encoder, x, mask, random, program.results());
    });
}
