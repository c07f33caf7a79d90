#include "chapters/10_greedy_decoding/cost.hpp"

#include "chapters/09_training/loop/task.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "lib/program/output.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [words]
namespace {

/// Prints the cost of longer and longer outputs of a model with random weights and no end symbol.
void show_words(std::uint64_t seed, Results& results) {
    const TransformerOptions options = grammar_task().model;
    Random random(seed);
    const Transformer model(options, random);
    const Ids src =
        random_ids({1, 8}, 1, static_cast<std::int32_t>(options.src_words), random.stream());
    const std::vector<Index> lengths{4, 8, 16, 32, 64, 128};
    section("Cost of n words");
    Table counted(results, {{"n", "5"},
                            {"multiply-adds: plain", "22", "count_{}_plain"},
                            {"cached", "14", "count_{}_cached"},
                            {"ratio", "8.1f", "count_{}_ratio"}});
    for (const Index n : lengths) {
        const Index plain = decoder_multiply_adds(options, src.size(), n, false);
        const Index cached = decoder_multiply_adds(options, src.size(), n, true);
        counted.row(n, n, plain, cached, static_cast<double>(plain) / static_cast<double>(cached));
    }
    section("Time of n words");
    GainTable timed(results, "words said", "without cache", "with");
    for (const Index n : lengths) {
        const DecodingOptions endless{.start = 1, .end = -1, .max_words = n};
        timed.sides(
            fmt::format("{}", n), fmt::format("words_{}", n),
            [&] { greedy_decode(model, src, endless); },
            [&] { greedy_decode_cached(model, src, endless); });
    }
}
// [batch]
/// Prints the cost of a sentence in larger and larger batches: 24 words for a source of 24, on the
/// paper's base model with random weights.
void show_batches(std::uint64_t seed, Results& results) {
    section("Cost of a sentence in a batch");
    TransformerOptions options = TransformerOptions::article();
    options.src_words = options.tgt_words = 8000;
    Random random(seed);
    const Transformer model(options, random);
    const DecodingOptions endless{.start = 1, .end = -1, .max_words = 24};
    Table table(results, {{"sentences", "10"},
                          varying("ms per sentence", "16.1f", "batch_{}_ms", "ms"),
                          varying("words per second", "17.0f"),
                          varying("alone / this", "15.1f", "batch_{}_gain")});
    double alone_ms = 0;
    for (Index n : {1, 4, 16, 64}) {
        const Ids src = random_ids({n, 24}, 1, 8000, random.stream());
        const auto decode = [&] { greedy_decode_cached(model, src, endless); };
        decode();  // to warm up
        const Measured m = measure(decode, 3);
        const double ms = m.ms / static_cast<double>(n);
        if (n == 1) alone_ms = ms;
        table.measured_row(m.noise.disturbed(), n, n, ms, 24 * 1000 / ms, alone_ms / ms);
    }
}

}  // namespace
// [all]
void show_decoding_cost(std::uint64_t seed, Results& results) {
    show_words(seed, results);
    show_batches(seed, results);
}

}  // namespace abh
