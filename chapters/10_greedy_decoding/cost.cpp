#include "chapters/10_greedy_decoding/cost.hpp"

#include <numeric>

#include "chapters/09_training/training.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/10_greedy_decoding/key_values.hpp"
#include "lib/program/program.hpp"
#include "lib/program/stopwatch.hpp"

namespace abh {
// [words]
namespace {

/// What ever longer outputs cost, on a model with random weights and no end symbol.
void show_words(std::uint64_t seed, Results& results) {
    section("Cost of n words");
    const TransformerOptions options = grammar_task().model;
    Random random(seed);
    const Transformer model(options, random);
    const Ids src =
        random_ids({1, 8}, 1, static_cast<std::int32_t>(options.src_words), random.stream());
    const std::vector<Index> lengths{4, 8, 16, 32, 64, 128};
    Ids words({6});
    Tensor counts({2, 6}), times({2, 6});
    fmt::print("{:>5}{:>22}{:>14}{:>8}{:>18}{:>11}{:>8}\n", "n", "multiply-adds: plain", "cached",
               "ratio", "ms: plain", "cached", "ratio");
    for (Index i = 0; i < words.size(); ++i) {
        const Index n = lengths[static_cast<std::size_t>(i)];
        const DecodingOptions endless{.start = 1, .end = -1, .max_words = n};
        const auto plain = decoder_multiply_adds(options, src.size(), n, false);
        const auto cached = decoder_multiply_adds(options, src.size(), n, true);
        const double plain_ms = best_of(3, [&] { greedy_decode(model, src, endless); });
        const double cached_ms = best_of(3, [&] { greedy_decode_cached(model, src, endless); });
        fmt::print("{:>5}{:>22}{:>14}{:>8.1f}{:>18.2f}{:>11.2f}{:>8.1f}\n", n, plain, cached,
                   static_cast<double>(plain) / static_cast<double>(cached), plain_ms, cached_ms,
                   plain_ms / cached_ms);
        words(i) = static_cast<std::int32_t>(n);
        counts(0, i) = static_cast<Real>(plain);
        counts(1, i) = static_cast<Real>(cached);
        times(0, i) = static_cast<Real>(plain_ms);
        times(1, i) = static_cast<Real>(cached_ms);
    }
    results.array("words", words);
    results.array("multiply_adds", counts);
    results.array("milliseconds", times);
    results.set("count_ratio", counts(0, 5) / counts(1, 5));
    results.set_varying("time_ratio", times(0, 5) / times(1, 5));
}
// [batch]
/// What a sentence costs in a batch of ever more: 24 words about 24, on the paper's base model with
/// random weights.
void show_batches(std::uint64_t seed, Results& results) {
    section("Cost of a sentence in a batch");
    TransformerOptions options = TransformerOptions::article();
    options.src_words = options.tgt_words = 8000;
    Random random(seed);
    const Transformer model(options, random);
    const DecodingOptions endless{.start = 1, .end = -1, .max_words = 24};
    fmt::print("{:>10}{:>16}{:>17}\n", "sentences", "ms a sentence", "words a second");
    double alone_ms = 0;
    for (Index n : {1, 4, 16, 64}) {
        const Ids src = random_ids({n, 24}, 1, 8000, random.stream());
        greedy_decode_cached(model, src, endless);  // warm
        const double ms =
            best_of(2, [&] { greedy_decode_cached(model, src, endless); }) / static_cast<double>(n);
        fmt::print("{:>10}{:>16.1f}{:>17.0f}\n", n, ms, 24 * 1000 / ms);
        if (n == 1) alone_ms = ms;
        results.set_varying(fmt::format("batch_{}_ms", n), ms, "ms");
        results.set_varying(fmt::format("batch_{}_gain", n), alone_ms / ms);
    }
}
// [one query]
/// Attention of one query a sentence and head, as `attention` and as `attend_cached`.
void show_one_query(std::uint64_t seed, Results& results) {
    section("Cost of one query");
    const Index batch = 32, heads = 8, d_k = 64;
    Random random(seed);
    const Tensor q = normal({batch, heads, 1, d_k}, random.stream());
    Ids sentences({batch});
    std::iota(sentences.values().begin(), sentences.values().end(), 0);
    fmt::print("{:>5}{:>22}{:>22}\n", "keys", "attention: us", "attend_cached: us");
    for (Index keys : {8, 32, 128}) {
        const KeyValues kv{normal({batch, heads, keys, d_k}, random.stream()),
                           normal({batch, heads, keys, d_k}, random.stream())};
        const Mask mask = Mask::zeros({batch, 1, 1, keys});
        const Mask hidden = mask.reshape({batch, 1, keys, 1});
        const double plain = 1000 * best_of(20, [&] { attention(q, kv.k, kv.v, mask); });
        const double one =
            1000 * best_of(20, [&] { attend_cached(q, kv, keys, hidden, sentences, {}); });
        fmt::print("{:>5}{:>22.0f}{:>22.0f}\n", keys, plain, one);
        results.set_varying(fmt::format("query_{}_gain", keys), plain / one);
    }
}

}  // namespace
// [all]
void show_decoding_cost(std::uint64_t seed, Results& results) {
    show_words(seed, results);
    show_batches(seed, results);
    show_one_query(seed, results);
}

}  // namespace abh
