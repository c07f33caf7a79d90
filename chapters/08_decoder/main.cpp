#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/08_decoder/decoder.hpp"
#include "lib/program.hpp"

using namespace abh;
// [sentence pair]
namespace {

const std::vector<std::string> source{"我", "有", "一", "个", "好", "朋", "友", "P"};
const std::vector<std::string> english{"P",    "I",    "have", "a", "good", "friend",
                                       "zero", "girl", "boy",  "S", "E",    "."};
const Ids source_ids({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
const Ids input_ids({1, 7}, {9, 1, 2, 3, 4, 5, 11});    // S I have a good friend .
const Ids target_ids({1, 7}, {1, 2, 3, 4, 5, 11, 10});  // I have a good friend . E
constexpr Index n_source = 8, n_target = 7;

const std::string& word(const Ids& ids, Index position) {
    return english[static_cast<std::size_t>(ids(0, position))];
}

std::string sentence(const Ids& ids) {
    std::string text = word(ids, 0);
    for (Index t = 1; t < ids.dim(1); ++t) text += " " + word(ids, t);
    return text;
}
// [shift]
void show_shift(Results& results) {
    section("What the decoder reads, and what it must say");
    fmt::print("{:>8}  {:12}{}\n", "position", "reads", "must say");
    for (Index t = 0; t < n_target; ++t)
        fmt::print("{:>8}  {:>2} {:9}{:>2} {}\n", t, input_ids(0, t), word(input_ids, t),
                   target_ids(0, t), word(target_ids, t));
    results.set("source", fmt::format("{}", fmt::join(source, " ")));
    results.set("input", sentence(input_ids));
    results.set("target", sentence(target_ids));
}
// [parameters]
template <class Part>
Index count(Part& part) {
    return count_elements(parameters_of(part));
}

void show_parameters(Results& results) {
    section("Parameters of one layer");
    fmt::print("{:25}{:>10}{:>10}{:>14}{:>7}{:>10}\n", "", "self", "cross", "feed-forward", "norms",
               "layer");
    const auto row = [&](const char* name, const std::string& key, const LayerOptions& options) {
        Random random(1);
        DecoderLayer layer(options, random);
        const Index norms =
            count(layer.norm1.norm) + count(layer.norm2.norm) + count(layer.norm3.norm);
        fmt::print("{:25}{:>10}{:>10}{:>14}{:>7}{:>10}\n", name, count(layer.self_attn),
                   count(layer.cross_attn), count(layer.ff), norms, count(layer));
        results.set(key + "_layer", static_cast<double>(count(layer)));
        results.set(key + "_attention", static_cast<double>(count(layer.self_attn)));
        results.set(key + "_ff", static_cast<double>(count(layer.ff)));
    };
    row("Chinese-English toy", "toy", toy_layer());
    row("German-English notebook", "notebook", notebook_layer());
    row("shared-head block", "block", shared_head_layer());
}
// [translator]
/// All that stands between the ids and the decoder's output, with random weights.
struct Translator {
    Embedding source_words, target_words;
    PositionalEncoding source_positions, target_positions;
    Encoder encoder;
    Decoder decoder;

    Translator(Index n_layers, Random& random)
        : source_words(11, 512, {}, random),
          target_words(12, 512, {}, random),
          source_positions(512, {.max_len = 100}, random),
          target_positions(512, {.max_len = 100}, random),
          encoder(toy_layer(), n_layers, random),
          decoder(toy_layer(), n_layers, random) {}

    /// The encoder's output. Its mask is that of the whole sentence, whatever word we put into it.
    Tensor memory(const Ids& ids) const {
        return encoder.forward(source_positions.forward(source_words.forward(ids)),
                               padding_mask(source_ids, source_ids));
    }
    Tensor vectors(const Ids& ids) const {
        return target_positions.forward(target_words.forward(ids));
    }
    Tensor decode(const Ids& ids, const Tensor& memory, const Mask& self_mask) const {
        return decoder.forward(vectors(ids), memory, self_mask, padding_mask(ids, source_ids));
    }
};
// [masks and changes]
Ids with_word(const Ids& ids, Index position, std::int32_t id) {
    Ids changed = ids.clone();
    changed(0, position) = id;
    return changed;
}

/// The padding mask and the look-ahead mask, as the decoder's self-attention needs them.
Mask self_mask_of(const Ids& ids) {
    return either(padding_mask(ids, ids), look_ahead_mask(ids));
}
// [influence]
/// How far row t of `b` is from row t of `a`: the largest difference, for each t. Zero means that
/// all its numbers are equal, to the last bit.
std::vector<double> moved(const Tensor& a, const Tensor& b) {
    std::vector<double> rows;
    for (Index t = 0; t < a.dim(1); ++t) {
        double largest = 0;
        for (Index i = 0; i < a.dim(2); ++i)
            largest = std::max<double>(largest, std::abs(a(0, t, i) - b(0, t, i)));
        rows.push_back(largest);
    }
    return rows;
}

/// Row j: what moves when we put "girl" in the place of word j of the decoder's input.
Tensor influence(const Translator& model, const Tensor& memory, const Ids& ids, const Mask& mask) {
    const Tensor y = model.decode(ids, memory, mask);
    Tensor table({n_target, n_target});
    for (Index j = 0; j < n_target; ++j) {
        const std::vector<double> rows = moved(y, model.decode(with_word(ids, j, 7), memory, mask));
        std::copy(rows.begin(), rows.end(), &table(j, 0));
    }
    return table;
}

void show_influence(const Tensor& table, Results& results) {
    section("Changing one word of the decoder's input");
    fmt::print("{:>10}", "changed");
    for (Index t = 0; t < n_target; ++t) fmt::print("{:>8}", word(input_ids, t));
    for (Index j = 0; j < n_target; ++j) {
        fmt::print("\n{:>10}", word(input_ids, j));
        for (Index t = 0; t < n_target; ++t)
            fmt::print("{:>8}", table(j, t) == 0 ? "=" : fmt::format("{:.3f}", table(j, t)));
    }
    fmt::print("\n");
    results.array("influence", table);
}
// [leaks]
/// Which rows depend on the word that they must say? `ahead` is how many places after row t that
/// word stands in the decoder's input: 1 where the input is shifted, else 0.
Index count_leaks(const Tensor& table, Index ahead) {
    Index leaks = 0;
    for (Index t = 0; t + ahead < n_target; ++t) leaks += table(t + ahead, t) != 0;
    return leaks;
}

void show_leaks(const Translator& model, const Tensor& memory, const Tensor& right,
                Results& results) {
    section("Rows that see their own answer");
    const auto row = [&](const char* name, const std::string& key, Index leaks) {
        fmt::print("{:36}{} of {}\n", name, leaks, n_target);
        results.set("leaks_" + key, static_cast<double>(leaks));
    };
    const Mask open = padding_mask(input_ids, input_ids);  // hides pads, not the future
    row("input shifted, future hidden", "right", count_leaks(right, 1));
    row("input not shifted, future hidden", "not_shifted",
        count_leaks(influence(model, memory, target_ids, self_mask_of(target_ids)), 0));
    row("input shifted, future not hidden", "not_hidden",
        count_leaks(influence(model, memory, input_ids, open), 1));
}
// [source]
void show_source(const Translator& model, const Tensor& memory, Results& results) {
    section("Changing one word of the source");
    fmt::print("{:>10}{:>16}{:>16}\n", "changed", "rows that move", "largest move");
    const Mask mask = self_mask_of(input_ids);
    const Tensor y = model.decode(input_ids, memory, mask);
    Tensor table({n_source, n_target});
    for (Index j = 0; j < n_source; ++j) {
        const Tensor other = model.memory(with_word(source_ids, j, 9));  // 女
        const std::vector<double> rows = moved(y, model.decode(input_ids, other, mask));
        std::copy(rows.begin(), rows.end(), &table(j, 0));
        fmt::print("{:>10}{:>14} / {}{:>14.3f}\n", source[static_cast<std::size_t>(j)],
                   n_target - std::count(rows.begin(), rows.end(), 0.0), n_target,
                   *std::max_element(rows.begin(), rows.end()));
    }
    results.array("source_influence", table);
}
// [maps]
void print_map(const Tensor& map, Index head, const std::vector<std::string>& columns) {
    fmt::print("{:>8}", "");
    for (const std::string& column : columns) fmt::print("{:>8}", column);
    for (Index t = 0; t < n_target; ++t) {
        fmt::print("\n{:>8}", word(input_ids, t));
        for (Index j = 0; j < map.dim(3); ++j) fmt::print("{:>8.3f}", map(0, head, t, j));
    }
    fmt::print("\n");
}

void show_maps(const Translator& model, const Tensor& memory, Results& results) {
    std::vector<DecoderLayer::Maps> maps, unmasked;
    const Tensor x = model.vectors(input_ids);
    const Mask mask = self_mask_of(input_ids);
    model.decoder.forward(x, memory, mask, padding_mask(input_ids, source_ids), nullptr, &maps);
    model.decoder.forward(x, memory, mask, Mask(), nullptr, &unmasked);

    std::vector<std::string> inputs;
    for (Index t = 0; t < n_target; ++t) inputs.push_back(word(input_ids, t));
    section("Self-attention of layer 1, head 1");
    print_map(maps[0].self, 0, inputs);
    section("Cross-attention of layer 1, head 1");
    print_map(maps[0].cross, 0, source);

    Real on_pad = 0, on_pad_unmasked = 0;
    for (Index h = 0; h < 8; ++h)
        for (Index t = 0; t < n_target; ++t) {
            on_pad = std::max(on_pad, maps[0].cross(0, h, t, 7));
            on_pad_unmasked = std::max(on_pad_unmasked, unmasked[0].cross(0, h, t, 7));
        }
    results.set("on_pad", on_pad);
    results.set("on_pad_unmasked", on_pad_unmasked);
    results.array("self", maps[0].self.reshape({8, n_target, n_target}));
    results.array("cross", maps[0].cross.reshape({8, n_target, n_source}));
}
// [backward]
/// Sends a random gradient back through the decoder, and watches what reaches the encoder's output.
void show_backward(Translator& model, const Tensor& memory, Random& random, Results& results) {
    section("The gradient that reaches the encoder");
    fmt::print("{:>10}{:>18}{:>14}{:>14}\n", "from", "norm of dmemory", "of the sum", "row of P");
    const Tensor x = model.vectors(input_ids);
    Decoder::Cache cache;
    model.decoder.forward(x, memory, self_mask_of(input_ids), padding_mask(input_ids, source_ids),
                          &cache);
    Tensor dx = normal(x.shape(), random.stream()), sum = Tensor::zeros(memory.shape());
    const std::size_t n_layers = model.decoder.layers.size();
    Tensor norms({static_cast<Index>(n_layers), 2});
    for (std::size_t i = n_layers; i-- > 0;) {
        const DecoderLayer::Gradients d = model.decoder.layers[i].backward(dx, cache.layers[i]);
        dx = d.dx;
        sum += d.dmemory;
        const double own = std::sqrt(dot(d.dmemory, d.dmemory)), all = std::sqrt(dot(sum, sum));
        double pad = 0;
        for (Index j = 0; j < sum.dim(2); ++j) pad = std::max<double>(pad, std::abs(sum(0, 7, j)));
        fmt::print("{:>10}{:>18.3f}{:>14.3f}{:>14}\n", fmt::format("layer {}", i + 1), own, all,
                   pad);
        norms(static_cast<Index>(i), 0) = static_cast<Real>(own);
        norms(static_cast<Index>(i), 1) = static_cast<Real>(all);
    }
    results.array("dmemory", norms);
    results.set("dmemory_last", norms(static_cast<Index>(n_layers) - 1, 0));
    results.set("dmemory_sum", norms(0, 1));
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Index n_layers = 6;
    Program program("Let a decoder with random weights read the start of a translation.");
    program.app().add_option("--layers", n_layers, "number of layers of encoder and decoder");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Random random(program.seed());
        Translator model(n_layers, random);
        const Tensor memory = model.memory(source_ids);  // [1, 8, 512]

        show_shift(results);
        show_parameters(results);
        const Tensor table = influence(model, memory, input_ids, self_mask_of(input_ids));
        show_influence(table, results);
        show_leaks(model, memory, table, results);
        show_source(model, memory, results);
        show_maps(model, memory, results);
        show_backward(model, memory, random, results);
    });
}
