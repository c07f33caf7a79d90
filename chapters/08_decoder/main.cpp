#include <fmt/ranges.h>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/08_decoder/decoder.hpp"
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

// [translator]
/// Everything between the toy's ids and the decoder's output, with random weights.
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

    /// The encoder's output.
    Tensor memory(const Ids& ids, const AttentionMask& mask) const {
        return encoder.forward(source_positions.forward(source_words.forward(ids)), mask);
    }
    Tensor vectors(const Ids& ids) const {
        return target_positions.forward(target_words.forward(ids));
    }
};
// [parameters]
/// How many parameters a layer's attention blocks and its feed-forward network have, for the
/// figure.
void keep_sizes(DecoderLayer& layer, Results& results) {
    const auto set = [&](const char* name, auto& part) {
        results.set(name, count_elements(parameters_of(part)));
    };
    set("toy_attention", layer.self_attn);
    set("toy_ff", layer.ff);
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
    fmt::print("{:>10}{:>8}\n", "changed", fmt::join(words_of(input_ids), ""));
    for (Index j = 0; j < n_target; ++j) {
        fmt::print("{:>10}", word(input_ids, j));
        for (Real x : table.rows(j, j + 1).values())
            fmt::print("{:>8}", x == 0 ? "=" : fmt::format("{:.3f}", x));
        fmt::print("\n");
    }
    results.array("influence", table);
    results.set("own_least", matrix(table).diagonal().minCoeff());
}
// [leaks]
/// How many rows depend on the word that they must say. In the decoder's input, that word comes
/// `ahead` places after row t: 1 if the input is shifted, else 0.
double count_leaks(const Tensor& table, Index ahead) {
    double leaks = 0;
    for (Index t = 0; t + ahead < n_target; ++t) leaks += table(t + ahead, t) != 0;
    return leaks;
}

void keep_leaks(const Translator& model, const Tensor& memory, const Tensor& right,
                Results& results) {
    const Tensor not_shifted = influence(model, memory, target_ids, self_mask_of(target_ids)),
                 not_hidden = influence(model, memory, input_ids, hide_pads(input_ids));
    results.set("leaks_right", count_leaks(right, 1));
    results.set("leaks_not_shifted", count_leaks(not_shifted, 0));
    results.set("leaks_not_hidden", count_leaks(not_hidden, 1));
}
// [source]
void keep_source(const Translator& model, const Tensor& memory, Results& results) {
    const AttentionMask mask = self_mask_of(input_ids);
    const Tensor y = decode(model, input_ids, memory, mask);
    Tensor rows({n_source, n_target});  // row j: how far each row moves with word j of the source
    for (Index j = 0; j < n_source; ++j) {
        // 女 takes the place of word j; the mask is that of the unchanged sentence
        const Tensor other = model.memory(with_word(source_ids, j, 9), hide_pads(source_ids));
        matrix(rows).row(j) = moved(y, decode(model, input_ids, other, mask));
    }
    results.array("source_influence", rows);
    results.set("source_largest", matrix(rows).maxCoeff());
}
// [weights]
void keep_weights(const Translator& model, const Tensor& memory, Results& results) {
    std::vector<Decoder::AttentionWeights> masked, unmasked;
    const Tensor x = model.vectors(input_ids);
    const AttentionMask mask = self_mask_of(input_ids);
    model.decoder.forward(x, memory, mask, hide_pads(source_ids), nullptr, &masked);
    model.decoder.forward(x, memory, mask, {}, nullptr, &unmasked);
    const auto& [self, cross] = masked[0];
    results.set("on_pad", matrix(cross).rightCols(1).maxCoeff());
    results.set("on_pad_unmasked", matrix(unmasked[0].cross).rightCols(1).maxCoeff());
    results.array("self", self.reshape({8, n_target, n_target}));
    results.array("cross", cross.reshape({8, n_target, n_source}));
}
// [backward]
/// Sends a random gradient back through the decoder, and keeps the size of what reaches the
/// encoder's output.
void keep_backward(Translator& model, const Tensor& memory, Random& random, Results& results) {
    const Tensor x = model.vectors(input_ids);
    Decoder::Cache cache;
    model.decoder.forward(x, memory, self_mask_of(input_ids), hide_pads(source_ids), &cache);
    Tensor dx = normal(x.shape(), random.stream()), sum = Tensor::zeros(memory.shape());
    const auto n_layers = static_cast<Index>(model.decoder.layers.size());
    Tensor norms({n_layers, 2});
    for (Index i = n_layers; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        const Decoder::Gradients d = model.decoder.layers[at].backward(dx, cache.layers[at]);
        dx = d.dx;
        sum += d.dmemory;
        norms(i, 0) = matrix(d.dmemory).norm();
        norms(i, 1) = matrix(sum).norm();
        results.set(fmt::format("dmemory_{}", i), norms(i, 0));
    }
    results.array("dmemory", norms);
    results.set("dmemory_sum_0", norms(0, 1));
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
        const Tensor table = influence(model, memory, input_ids, self_mask_of(input_ids));
        show_influence(table, results);
        keep_leaks(model, memory, table, results);
        keep_source(model, memory, results);
        keep_weights(model, memory, results);
        keep_backward(model, memory, random, results);
        keep_sizes(model.decoder.layers[0], results);
        results.set("source", fmt::format("{}", fmt::join(source, " ")));
        results.set("input", fmt::format("{}", fmt::join(words_of(input_ids), " ")));
    });
}
