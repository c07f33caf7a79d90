#include <fmt/ranges.h>

#include "chapters/08_decoder/translator.hpp"
#include "lib/eigen.hpp"
#include "lib/program/program.hpp"

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

std::vector<std::string> words_of(const Ids& ids) {
    std::vector<std::string> words;
    for (Index t = 0; t < ids.dim(1); ++t) words.push_back(word(ids, t));
    return words;
}

/// Prints `cell(t, j)` for each word t of the input and each column j.
template <class Cell>
void print_table(const std::string& corner, const std::vector<std::string>& columns,
                 const Cell& cell) {
    fmt::print("{:>10}", corner);
    for (const std::string& column : columns) fmt::print("{:>8}", column);
    for (Index t = 0; t < n_target; ++t) {
        fmt::print("\n{:>10}", word(input_ids, t));
        for (Index j = 0; j < static_cast<Index>(columns.size()); ++j)
            fmt::print("{:>8}", cell(t, j));
    }
    fmt::print("\n");
}
// [shift]
void show_shift(Results& results) {
    section("What the decoder reads, and what it must say");
    fmt::print("{:>8}  {:12}{}\n", "position", "reads", "must say");
    for (Index t = 0; t < n_target; ++t)
        fmt::print("{:>8}  {:>2} {:9}{:>2} {}\n", t, input_ids(0, t), word(input_ids, t),
                   target_ids(0, t), word(target_ids, t));
    results.set("source", fmt::format("{}", fmt::join(source, " ")));
    results.set("input", fmt::format("{}", fmt::join(words_of(input_ids), " ")));
}
// [parameters]
void show_parameters(Results& results) {
    section("Parameters of one layer");
    const auto count = [](auto& part) { return count_elements(parameters_of(part)); };
    Table table(results, {{"", "<23"},
                          {"self", "8", "{}_attention"},
                          {"cross", "8"},
                          {"feed-forward", "12", "{}_ff"},
                          {"norms", "5"},
                          {"layer", "8", "{}_layer"}});
    const auto row = [&](const char* name, const char* key, const LayerOptions& options) {
        Random random(1);
        DecoderLayer layer(options, random);
        table.row(key, name, count(layer.self_attn), count(layer.cross_attn), count(layer.ff),
                  3 * count(layer.norm1.norm), count(layer));
    };
    row("Chinese-English toy", "toy", toy_layer());
    row("German-English notebook", "notebook", notebook_layer());
    row("shared-head block", "block", shared_head_layer());
}
// [masks and changes]
Ids with_word(const Ids& ids, Index position, std::int32_t id) {
    Ids changed = ids.clone();
    changed(0, position) = id;
    return changed;
}
AttentionMask self_mask_of(const Ids& ids) {
    return hide_pads(ids) | hide_future();
}

/// The decoder's output for these words; its cross-attention does not see the source's P.
Tensor decode(const Translator& model, const Ids& ids, const Tensor& memory,
              const AttentionMask& self_mask) {
    return model.decoder.forward(model.vectors(ids), memory, self_mask, hide_pads(source_ids));
}
// [influence]
/// The largest difference between each row of `b` and the same row of `a`. Zero means that all
/// numbers of the row are equal, to the last bit.
auto moved(const Tensor& a, const Tensor& b) {
    return (matrix(a) - matrix(b)).cwiseAbs().rowwise().maxCoeff().transpose().eval();
}

/// Row j says how far each row moves when we put "girl" in the place of word j of the input.
Tensor influence(const Translator& model, const Tensor& memory, const Ids& ids,
                 const AttentionMask& mask) {
    const Tensor y = decode(model, ids, memory, mask);
    Tensor table({n_target, n_target});
    for (Index j = 0; j < n_target; ++j)
        matrix(table).row(j) = moved(y, decode(model, with_word(ids, j, 7), memory, mask));
    return table;
}

void show_influence(const Tensor& table, Results& results) {
    section("Changing one word of the decoder's input");
    print_table("changed", words_of(input_ids), [&](Index j, Index t) {
        return table(j, t) == 0 ? "=" : fmt::format("{:.3f}", table(j, t));
    });
    results.array("influence", table);
    results.set("own_least", matrix(table).diagonal().minCoeff());
}
// [leaks]
/// How many rows depend on the word that they must say. In the decoder's input, that word comes
/// `ahead` places after row t: 1 if the input is shifted, else 0.
Index count_leaks(const Tensor& table, Index ahead) {
    Index leaks = 0;
    for (Index t = 0; t + ahead < n_target; ++t) leaks += table(t + ahead, t) != 0;
    return leaks;
}

void show_leaks(const Translator& model, const Tensor& memory, const Tensor& right,
                Results& results) {
    section("Rows that see their own answer");
    Table table(results, {{"input", "<11"}, {"future", "<10"}, {"rows of 7", "9", "leaks_{}"}});
    table.row("right", "shifted", "hidden", count_leaks(right, 1));
    table.row("not_shifted", "not shifted", "hidden",
              count_leaks(influence(model, memory, target_ids, self_mask_of(target_ids)), 0));
    table.row("not_hidden", "shifted", "not hidden",
              count_leaks(influence(model, memory, input_ids, hide_pads(input_ids)), 1));
}
// [source]
void show_source(const Translator& model, const Tensor& memory, Results& results) {
    section("Changing one word of the source");
    const AttentionMask mask = self_mask_of(input_ids);
    const Tensor y = decode(model, input_ids, memory, mask);
    Tensor rows({n_source, n_target});
    Table table(results, {{"changed", "<8"}, {"rows that move", "14"}, {"largest move", "12.3f"}});
    for (Index j = 0; j < n_source; ++j) {
        // 女 takes the place of word j; the mask is that of the unchanged sentence
        const Tensor other = model.memory(with_word(source_ids, j, 9), hide_pads(source_ids));
        const auto row = moved(y, decode(model, input_ids, other, mask));
        matrix(rows).row(j) = row;
        table.row(j, source[static_cast<std::size_t>(j)],
                  fmt::format("{} / {}", (row.array() != 0).count(), n_target), row.maxCoeff());
    }
    results.array("source_influence", rows);
    results.set("source_largest", matrix(rows).maxCoeff());
}
// [weights]
void show_weights(const Translator& model, const Tensor& memory, Results& results) {
    std::vector<Decoder::AttentionWeights> masked, unmasked;
    const Tensor x = model.vectors(input_ids);
    const AttentionMask mask = self_mask_of(input_ids);
    model.decoder.forward(x, memory, mask, hide_pads(source_ids), nullptr, &masked);
    model.decoder.forward(x, memory, mask, {}, nullptr, &unmasked);
    const auto& [self, cross] = masked[0];

    const auto head_1 = [](const Tensor& weights) {
        return [&](Index t, Index j) { return fmt::format("{:.3f}", weights(0, 0, t, j)); };
    };
    section("Self-attention of layer 1, head 1");
    print_table("", words_of(input_ids), head_1(self));
    section("Cross-attention of layer 1, head 1");
    print_table("", source, head_1(cross));
    results.set("on_pad", matrix(cross).rightCols(1).maxCoeff());
    results.set("on_pad_unmasked", matrix(unmasked[0].cross).rightCols(1).maxCoeff());
    results.array("self", self.reshape({8, n_target, n_target}));
    results.array("cross", cross.reshape({8, n_target, n_source}));
}
// [backward]
/// Sends a random gradient back through the decoder, and prints what reaches the encoder's output.
void show_backward(Translator& model, const Tensor& memory, Random& random, Results& results) {
    section("The gradient that reaches the encoder");
    const Tensor x = model.vectors(input_ids);
    Decoder::Cache cache;
    model.decoder.forward(x, memory, self_mask_of(input_ids), hide_pads(source_ids), &cache);
    Tensor dx = normal(x.shape(), random.stream()), sum = Tensor::zeros(memory.shape());
    const auto n_layers = static_cast<Index>(model.decoder.layers.size());
    Tensor norms({n_layers, 2});
    Table table(results, {{"from", "<8"},
                          {"norm of dmemory", "15.3f", "dmemory_{}"},
                          {"of the sum", "10.3f", "dmemory_sum_{}"},
                          {"row of P", "8.3g"}});
    for (Index i = n_layers; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        const Decoder::Gradients d = model.decoder.layers[at].backward(dx, cache.layers[at]);
        dx = d.dx;
        sum += d.dmemory;
        norms(i, 0) = matrix(d.dmemory).norm();
        norms(i, 1) = matrix(sum).norm();
        table.row(i, fmt::format("layer {}", i + 1), norms(i, 0), norms(i, 1),
                  matrix(sum).row(7).cwiseAbs().maxCoeff());
    }
    results.array("dmemory", norms);
}

}  // namespace
// [main]
int main(int argc, char** argv) {
    Index n_layers = 6;
    Program program("Let a decoder with random weights read the start of a translation");
    program.options().add("--layers", n_layers, "number of encoder and of decoder layers");
    return program.run(argc, argv, [&] {
        Results& results = program.results();
        Random random(program.seed());
        Translator model(n_layers, random);
        const Tensor memory = model.memory(source_ids, hide_pads(source_ids));  // [1, 8, 512]
        show_shift(results);
        show_parameters(results);
        const Tensor table = influence(model, memory, input_ids, self_mask_of(input_ids));
        show_influence(table, results);
        show_leaks(model, memory, table, results);
        show_source(model, memory, results);
        show_weights(model, memory, results);
        show_backward(model, memory, random, results);
    });
}
