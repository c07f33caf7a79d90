#include <fmt/ranges.h>

#include <algorithm>

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
const Ids target_ids({1, 7}, {1, 2, 3, 4, 5, 11, 10});  // I have a good friend . E
constexpr std::int32_t start = 9;                       // S
constexpr Index n_source = 8, n_target = 7;

std::vector<std::string> words_of(const Ids& ids) {
    std::vector<std::string> words;
    for (std::int32_t id : ids.values()) words.push_back(english[static_cast<std::size_t>(id)]);
    return words;
}
// [shift]
/// What the decoder reads: the start symbol, then all that it must say but the last word.
Ids shifted(const Ids& target) {
    Ids input = target.clone();
    input(0, 0) = start;
    for (Index t = 1; t < target.dim(1); ++t) input(0, t) = target(0, t - 1);
    return input;
}
// [input]
const Ids input_ids = shifted(target_ids);  // S I have a good friend .

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

/// A line says how far each row moves when the word at its beginning is replaced.
void show_moved(const char* title, const Tensor& table, const std::vector<std::string>& replaced) {
    section(title);
    fmt::print("{:>10}{:>8}\n", "changed", fmt::join(words_of(input_ids), ""));
    for (std::size_t j = 0; j < replaced.size(); ++j) {
        fmt::print("{:>10}", replaced[j]);
        const auto row = static_cast<Index>(j);
        for (Real x : table.rows(row, row + 1).values())
            fmt::print("{:>8}", x == 0 ? "=" : fmt::format("{:.2f}", x));
        fmt::print("\n");
    }
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
// [passes]
/// The largest difference between a row of the one pass over all words and the last row of the pass
/// over the words up to it.
double compare_passes(const Translator& model, const Tensor& memory) {
    const Tensor once = decode(model, input_ids, memory, self_mask_of(input_ids));
    double worst = 0;
    for (Index n = 1; n <= n_target; ++n) {
        Ids prefix({1, n});
        std::copy_n(input_ids.data(), n, prefix.data());
        const Tensor y = decode(model, prefix, memory, self_mask_of(prefix));
        const auto difference = matrix(once).row(n - 1) - matrix(y).row(n - 1);
        worst = std::max<double>(worst, difference.cwiseAbs().maxCoeff());
    }
    return worst;
}
// [source]
/// Row j says how far each row of the decoder moves when we put 女 in the place of word j of the
/// source. The mask is that of the unchanged sentence.
Tensor source_influence(const Translator& model, const Tensor& memory) {
    const AttentionMask mask = self_mask_of(input_ids);
    const Tensor y = decode(model, input_ids, memory, mask);
    Tensor rows({n_source, n_target});
    for (Index j = 0; j < n_source; ++j) {
        const Tensor other = model.memory(with_word(source_ids, j, 9), hide_pads(source_ids));
        matrix(rows).row(j) = moved(y, decode(model, input_ids, other, mask));
    }
    return rows;
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
        show_moved("Changing one word of the decoder's input", table, words_of(input_ids));
        results.set("own_least", matrix(table).diagonal().minCoeff());
        keep_leaks(model, memory, table, results);
        results.set_varying("passes_worst", compare_passes(model, memory));
        const Tensor by_source = source_influence(model, memory);
        show_moved("Changing one word of the source", by_source, source);
        results.set("source_largest", matrix(by_source).maxCoeff());
        results.set("source", fmt::format("{}", fmt::join(source, " ")));
        results.set("input", fmt::format("{}", fmt::join(words_of(input_ids), " ")));
        results.set("target", fmt::format("{}", fmt::join(words_of(target_ids), " ")));
    });
}
