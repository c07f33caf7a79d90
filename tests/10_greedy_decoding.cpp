#include <algorithm>
#include <cmath>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/09_training/training.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"
#include "lib/cuda/runtime.hpp"
#include "lib/fast/parallel.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/support.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

// Sums of some tens of numbers of order one, taken in another order.
constexpr double round_off = sizeof(Real) == 8 ? 1e-13 : 1e-5;
constexpr std::int32_t start = 8, no_end = -1;

/// A small post-norm model of odd sizes: 7 source words, 9 target words, width 6, three heads.
TransformerOptions small() {
    TransformerOptions o;
    o.src_words = 7;
    o.tgt_words = 9;
    o.n_encoder_layers = 1;
    o.n_decoder_layers = 2;
    o.layer.attention.d_model = 6;
    o.layer.attention.n_heads = 3;
    o.layer.d_ff = 7;
    o.positions.max_len = 20;
    return o;
}

TransformerOptions toy_like() {
    TransformerOptions o = small();
    o.layer.attention.bias_qkv = o.layer.attention.bias_out = o.layer.ff_bias = false;
    o.layer.add_norm.norm.affine = false;
    o.output_bias = false;
    return o;
}

TransformerOptions pre_norm() {
    TransformerOptions o = small();
    o.layer.add_norm.placement = NormPlacement::pre;
    o.embedding = {.scale = true, .padding_id = 0};
    return o;
}

/// Heads that share one projection, masks filled before scaling, learned positions.
TransformerOptions shared_heads() {
    TransformerOptions o = small();
    o.layer.attention.shared_head_projections = true;
    o.layer.attention.bias_qkv = false;
    o.layer.attention.attention = {.scale = Real(1 / std::sqrt(6.0)),
                                   .fill = Real(-1e20),
                                   .fill_place = FillPlace::before_scale};
    o.positions.kind = Positions::learned;
    return o;
}

TransformerOptions future_only() {
    TransformerOptions o = shared_heads();
    o.mask_target_pads = false;
    return o;
}

const std::vector<std::pair<const char*, TransformerOptions>> kinds{
    {"post-norm with biases", small()},
    {"the toy's", toy_like()},
    {"pre-norm, scaled embedding", pre_norm()},
    {"shared heads, filled before scaling, learned positions", shared_heads()},
    {"shared heads, target pads not hidden", future_only()}};

/// A model with random weights, gammas and betas other than 1 and 0 among them.
Transformer random_model(const TransformerOptions& options, std::uint64_t seed) {
    Random random(seed);
    Transformer model(options, random);
    for (const NamedParameter& p : parameters_of(model))
        p.parameter->value +=
            uniform(p.parameter->value.shape(), Real(-0.5), Real(0.5), random.stream());
    return model;
}

/// Where the processor plays the device, fewer models must do.
bool emulated() {
    return cuda::emulated && on_cuda();
}

std::uint64_t seeds(std::uint64_t all) {
    return emulated() ? 1 : all;
}

Ids row_of(const std::vector<std::int32_t>& words) {
    Ids ids({1, static_cast<Index>(words.size())});
    std::copy(words.begin(), words.end(), ids.data());
    return ids;
}

const Ids source = row_of({3, 1, 6, 2, 0, 0});

/// The logits of the whole prefix.
Tensor decoded(const Transformer& model, const Ids& prefix, const Tensor& memory) {
    return model.output.forward(model.decode(prefix, memory, source));
}

/// One sentence with a key-value cache.
Translation cached_alone(const Transformer& model, const Ids& src, const DecodingOptions& options) {
    const std::vector<Translation> results = greedy_decode_cached(model, src, options);
    REQUIRE(results.size() == 1);
    return results.front();
}

double difference(const std::vector<Real>& a, const std::vector<Real>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max<double>(largest, std::abs(a[i] - b[i]));
    return largest;
}

}  // namespace

TEST_CASE("decoding with a key-value cache gives the same words and probabilities") {
    for (const auto& [name, options] : kinds)
        for (std::uint64_t seed = 1; seed <= seeds(5); ++seed) {
            const Transformer model = random_model(options, seed);
            const DecodingOptions decoding{start, no_end, 12};
            const Translation plain = greedy_decode(model, source, decoding);
            const Translation cached = cached_alone(model, source, decoding);
            INFO(name << ", seed " << seed);
            CHECK(plain.ids.size() == 12);
            CHECK(plain.ids == cached.ids);
            CHECK(difference(plain.probabilities, cached.probabilities) < round_off);
        }
}

TEST_CASE("one row with cached keys equals the last row of the whole prefix, pads among it") {
    const std::vector<std::int32_t> words{start, 3, 0, 5, 5, 0, 0, 2, start, 7};
    for (const auto& [name, options] : kinds) {
        const Transformer model = random_model(options, 7);
        const Tensor memory = model.encode(source);
        IncrementalDecoder decoder(model, source);
        for (std::size_t t = 0; t < words.size(); ++t) {
            const Ids prefix = row_of({words.begin(), words.begin() + static_cast<long>(t) + 1});
            const Tensor whole = decoded(model, prefix, memory);  // [1, t + 1, 9]
            const Tensor row = decoder.next({words[t]});          // [1, 1, 9]
            Tensor last({1, 1, 9});
            std::copy_n(whole.data() + whole.size() - 9, 9, last.data());
            INFO(name << ", word " << t);
            CHECK(max_difference(row, last) < 10 * round_off);
        }
    }
}

TEST_CASE("every word is the likeliest after the words before it") {
    for (const auto& [name, options] : kinds) {
        const Transformer model = random_model(options, 3);
        const Translation t = greedy_decode(model, source, {start, no_end, 6});
        std::vector<std::int32_t> words{start};
        words.insert(words.end(), t.ids.begin(), t.ids.end() - 1);
        const Tensor logits = model.forward(source, row_of(words));  // [1, 6, 9]
        INFO(name);
        for (Index i = 0; i < 6; ++i) {
            const Real* const row = &logits(0, i, 0);
            CHECK(std::max_element(row, row + 9) - row == t.ids[static_cast<std::size_t>(i)]);
            double sum = 0;
            for (Index w = 0; w < 9; ++w)
                sum += std::exp(static_cast<double>(row[w] - *std::max_element(row, row + 9)));
            CHECK(static_cast<double>(t.probabilities[static_cast<std::size_t>(i)]) ==
                  Approx(1 / sum).epsilon(round_off * 10));
        }
    }
}

TEST_CASE("a translation stops at the length cap") {
    const Transformer model = random_model(small(), 1);
    for (Index cap : {1, 2, 7}) {
        const Translation plain = greedy_decode(model, source, {start, no_end, cap});
        const Translation cached = cached_alone(model, source, {start, no_end, cap});
        CHECK(static_cast<Index>(plain.ids.size()) == cap);
        CHECK(plain.probabilities.size() == plain.ids.size());
        CHECK_FALSE(plain.finished);
        CHECK(cached.ids == plain.ids);
        CHECK_FALSE(cached.finished);
    }
}

TEST_CASE("a translation stops where the model's positions end") {
    const Transformer model = random_model(small(), 1);  // 20 positions
    CHECK(greedy_decode(model, source, {start, no_end, 1000}).ids.size() == 20);
    CHECK(cached_alone(model, source, {start, no_end, 1000}).ids.size() == 20);
}

TEST_CASE("the end symbol is not part of the translation") {
    Transformer model = random_model(small(), 1);
    model.output.bias.value(5) = 100;  // whatever the sentence, word 5 comes
    for (const Translation& t : {greedy_decode(model, source, {start, 5, 10}),
                                 cached_alone(model, source, {start, 5, 10})}) {
        CHECK(t.ids.empty());
        CHECK(t.finished);
        REQUIRE(t.probabilities.size() == 1);  // that of the end symbol
        CHECK(t.probabilities[0] > Real(0.99));
    }
}

TEST_CASE("a translation of one word is one word") {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Transformer model = random_model(small(), seed);
        const std::vector<std::int32_t> two = greedy_decode(model, source, {start, no_end, 2}).ids;
        if (two[0] == two[1]) continue;
        ++found;
        const Translation plain = greedy_decode(model, source, {start, two[1], 10});
        const Translation cached = cached_alone(model, source, {start, two[1], 10});
        CHECK(plain.ids == std::vector<std::int32_t>{two[0]});
        CHECK(cached.ids == plain.ids);
        CHECK(plain.finished);
        CHECK(plain.probabilities.size() == 2);
    }
    CHECK(found > 0);
}

TEST_CASE("padding behind the source changes nothing") {
    for (const auto& [name, options] : kinds) {
        const Transformer model = random_model(options, 2);
        const DecodingOptions decoding{start, no_end, 8};
        const Translation bare = greedy_decode(model, row_of({3, 1, 6, 2}), decoding);
        const Translation padded = greedy_decode(model, row_of({3, 1, 6, 2, 0, 0, 0}), decoding);
        const Translation other = greedy_decode(model, row_of({3, 1, 6, 5}), decoding);
        INFO(name);
        CHECK(bare.ids == padded.ids);
        CHECK(difference(bare.probabilities, padded.probabilities) < round_off);
        CHECK(difference(bare.probabilities, other.probabilities) > 1e-4);
    }
}

TEST_CASE("the same sentence gives the same bits with any number of threads", "[fast]") {
    TransformerOptions options = toy_like();
    options.layer.attention.d_model = 96;  // large enough that products are shared among threads
    options.layer.d_ff = 512;
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 8};
    const Translation one = greedy_decode(model, source, decoding);
    const Translation cached = cached_alone(model, source, decoding);
    for (int n : {1, 2, 3}) {
        set_threads(n);
        const Translation again = greedy_decode(model, source, decoding);
        CHECK(again.ids == one.ids);
        CHECK(again.probabilities == one.probabilities);
        CHECK(cached_alone(model, source, decoding).probabilities == cached.probabilities);
    }
    set_threads(1);
}

TEST_CASE("dropout left on makes decoding random, dropout off does not") {
    TransformerOptions options = small();
    options.layer.add_norm.dropout = options.positions.dropout = Real(0.3);
    Transformer model = random_model(options, 4);
    const DecodingOptions off{start, no_end, 6}, on{start, no_end, 6, true};
    const Translation calm = greedy_decode(model, source, off);
    const Translation first = greedy_decode(model, source, on);
    CHECK(first.probabilities != calm.probabilities);
    CHECK(greedy_decode(model, source, on).probabilities == first.probabilities);
    model.random().next_step();
    CHECK(greedy_decode(model, source, on).probabilities != first.probabilities);
    CHECK(greedy_decode(model, source, off).probabilities == calm.probabilities);
    CHECK(cached_alone(model, source, off).ids == calm.ids);
}

TEST_CASE("the last pass leaves one row of attention for each word and the end symbol") {
    Transformer model = random_model(small(), 6);
    const Translation endless = greedy_decode(model, source, {start, no_end, 5}, true);
    REQUIRE(endless.weights.decoder.size() == 2);
    CHECK(endless.weights.decoder[1].self.shape() == Shape{1, 3, 5, 5});
    const Tensor& cross = endless.weights.decoder[1].cross;
    REQUIRE(cross.shape() == Shape{1, 3, 5, 6});
    for (Index h = 0; h < 3; ++h)
        for (Index t = 0; t < 5; ++t) {
            double sum = 0;
            for (Index j = 0; j < 6; ++j) sum += static_cast<double>(cross(0, h, t, j));
            CHECK(sum == Approx(1).epsilon(1e-6));
            CHECK(cross(0, h, t, 4) == 0);  // padding
        }
    model.output.bias.value(5) = 100;
    CHECK(greedy_decode(model, source, {start, 5, 5}, true).weights.decoder[0].cross.dim(2) == 1);
    CHECK(greedy_decode(model, source, {start, 5, 5}).weights.decoder.empty());
}

TEST_CASE("a triangle aligned at the top left hides all but the first key from one query") {
    Random random(5);
    const Index t = 5;
    const Tensor q = normal({1, 1, t, 4}, random.stream());
    const Tensor k = normal({1, 1, t, 4}, random.stream());
    const Tensor v = normal({1, 1, t, 3}, random.stream());
    const Mask triangle = look_ahead_mask(Ids::zeros({1, t}));      // [1, t, t]
    const Tensor whole = attention(q, k, v, over_heads(triangle));  // [1, 1, t, 3]
    Tensor last_query({1, 1, 1, 4}), last_row({1, 1, 1, 3}), first_value({1, 1, 1, 3});
    std::copy_n(&q(0, 0, t - 1, 0), 4, last_query.data());
    std::copy_n(&whole(0, 0, t - 1, 0), 3, last_row.data());
    std::copy_n(v.data(), 3, first_value.data());
    Mask top({1, 1, 1, t}), bottom({1, 1, 1, t});
    std::copy_n(triangle.data(), t, top.data());
    std::copy_n(triangle.data() + (t - 1) * t, t, bottom.data());

    CHECK(max_difference(attention(last_query, k, v, Mask()), last_row) < round_off);
    CHECK(max_difference(attention(last_query, k, v, bottom), last_row) < round_off);
    CHECK(max_difference(attention(last_query, k, v, top), first_value) < round_off);
    CHECK(max_difference(attention(last_query, k, v, top), last_row) > 0.01);
}

TEST_CASE("multiply-adds are those counted with pen and paper") {
    TransformerOptions o;
    o.n_decoder_layers = 1;
    o.layer.attention.d_model = 2;
    o.layer.attention.n_heads = 1;
    o.layer.d_ff = 3;
    o.tgt_words = 5;
    // A row: six 2x2 projections and two 2x3 maps, 36; a key: 4; the source's 2 words: 2
    // projections each, 16. One word sees 1 + 2 keys: 36 + 12 + 16, and 10 of the output map.
    CHECK(decoder_multiply_adds(o, 2, 1, false) == 74);
    CHECK(decoder_multiply_adds(o, 2, 1, true) == 74);
    // Another word, two rows and 2 + 2 keys: 2 * (36 + 16 + 10) + 16; with the cache 36 + 16 + 10.
    CHECK(decoder_multiply_adds(o, 2, 2, false) == 74 + 140);
    CHECK(decoder_multiply_adds(o, 2, 2, true) == 74 + 62);
    o.n_decoder_layers = 3;
    CHECK(decoder_multiply_adds(o, 2, 1, true) == 3 * 64 + 10);
    o.n_decoder_layers = 1;
    o.layer.attention.n_heads = 2;
    o.layer.attention.shared_head_projections = true;  // q, k and v take 2 instead of 4
    CHECK(decoder_multiply_adds(o, 2, 1, true) == (4 * 2 + 2 * 4 + 12) + 12 + 8 + 10);
}

TEST_CASE("a small model trained on the toy translates its three sentences") {
    Task task = toy_task();
    task.model.n_encoder_layers = task.model.n_decoder_layers = 1;
    task.model.layer.attention.d_model = 32;
    task.model.layer.attention.n_heads = 4;
    task.model.layer.d_ff = 64;
    task.model.positions.dropout = 0;
    task.training.epochs = 80;
    task.training.optimizer = "adam";
    task.training.learning_rate = Real(3e-3);
    Transformer model(task.model, Random(1));
    {
        const Following fast(Way::fast);  // the device is to decode; how it trains, chapter 9 shows
        train(model, task.corpus, task.training, [](const StepReport&) {});
    }

    const DecodingOptions options{task.corpus.target.id("S"), task.corpus.target.id("E"), 50};
    const auto words_of = [&](const Translation& translation) {
        std::vector<std::string> words;
        for (std::int32_t id : translation.ids) words.push_back(task.corpus.target.word(id));
        return join_words(words);
    };
    for (const SentencePair& pair : task.corpus.train) {
        const Ids src = source_ids(task.corpus.source, pair.source);
        const Translation t = greedy_decode(model, src, options);
        CHECK(words_of(t) == join_words(pair.target));
        CHECK(t.finished);
        CHECK(cached_alone(model, src, options).ids == t.ids);
        CHECK(*std::min_element(t.probabilities.begin(), t.probabilities.end()) > Real(0.5));
    }
    const Ids unseen = source_ids(task.corpus.source, task.corpus.held_out[0].source);
    CHECK(greedy_decode(model, unseen, options).finished);  // which words, nobody promises
}

TEST_CASE("a request that cannot be met is refused, and the values are named") {
    const Transformer model = random_model(small(), 1);
    const DecodingOptions options{start, no_end, 5};
    const auto plain = [&](const Ids& src, const DecodingOptions& o) {
        return greedy_decode(model, src, o);
    };
    const auto cached = [&](const Ids& src, const DecodingOptions& o) {
        return cached_alone(model, src, o);
    };
    const auto both = [&](const Ids& src, const DecodingOptions& o, const std::string& message) {
        CHECK_THROWS_WITH(plain(src, o), Contains(message));
        CHECK_THROWS_WITH(cached(src, o), Contains(message));
    };
    CHECK_THROWS_WITH(plain(Ids::full({2, 3}, 1), options),
                      Contains("src has shape [2, 3], expected [1, Ls]"));
    both(Ids({0, 3}), options, "src has shape [0, 3], expected [B, Ls]");
    both(Ids::full({3}, 1), options, "src has shape [3], expected [B, Ls]");
    both(Ids({1, 0}), options, "src has shape [1, 0]");
    both(Ids::full({1, 21}, 1), options, "the sentence has 21 words, the model takes at most 20");
    const Ids longest = Ids::full({1, 20}, 1);
    CHECK(plain(longest, options).ids == cached(longest, options).ids);
    both(source, {start, no_end, 0}, "max_words is 0, expected at least 1");
    both(source, {0, no_end, 5}, "start symbol 0 is padding");
    both(row_of({1, 7}), options, "7");
    both(source, {9, no_end, 5}, "9");
    CHECK_THROWS_WITH(cached(source, {start, no_end, 5, true}), Contains("dropout"));
}

namespace {

/// Sentences of 4, 6, 1, 5 and 2 words, each padded to the longest.
const std::vector<std::vector<std::int32_t>> sentences{
    {3, 1, 6, 2}, {5, 5, 1, 2, 4, 3}, {6}, {1, 2, 3, 4, 5}, {2, 6}};

Ids padded_batch() {
    Ids ids = Ids::zeros({5, 6});
    for (std::size_t b = 0; b < sentences.size(); ++b)
        std::copy(sentences[b].begin(), sentences[b].end(), &ids(b, 0));
    return ids;
}

}  // namespace

TEST_CASE("sentences in a batch are translated as each of them alone") {
    int lengths = 0, unfinished = 0;
    for (const auto& [name, options] : kinds)
        for (std::uint64_t seed = 1; seed <= seeds(8); ++seed) {
            const Transformer model = random_model(options, seed);
            const std::vector<std::int32_t> endless =
                greedy_decode(model, row_of(sentences[1]), {start, no_end, 12}).ids;
            const DecodingOptions decoding{start, endless[seed % 4], 12};
            const std::vector<Translation> batch =
                greedy_decode_cached(model, padded_batch(), decoding);
            REQUIRE(batch.size() == sentences.size());
            std::vector<std::size_t> different;
            for (std::size_t b = 0; b < sentences.size(); ++b) {
                const Translation alone = greedy_decode(model, row_of(sentences[b]), decoding);
                INFO(name << ", seed " << seed << ", sentence " << b);
                CHECK(batch[b].ids == alone.ids);
                CHECK(batch[b].finished == alone.finished);
                CHECK(difference(batch[b].probabilities, alone.probabilities) < round_off);
                different.push_back(batch[b].ids.size());
                unfinished += !batch[b].finished;
            }
            std::sort(different.begin(), different.end());
            lengths += std::unique(different.begin(), different.end()) - different.begin() >= 3;
        }
    CHECK(lengths >= (emulated() ? 1 : 5));  // models whose translations end at three times or more
    CHECK(unfinished > 0);
}

TEST_CASE("a sentence that is dropped from a batch leaves the others as they are") {
    for (const auto& [name, options] : kinds) {
        const Transformer model = random_model(options, 3);
        IncrementalDecoder all(model, padded_batch());
        std::vector<IncrementalDecoder> alone;
        for (const auto& words : sentences) alone.emplace_back(model, row_of(words));
        INFO(name);
        for (std::int32_t t = 0; t < 6; ++t) {
            if (t == 2) all.select({0, 2, 3, 4});
            if (t == 4) all.select({1, 3});  // 2 and 4
            std::vector<std::int32_t> words;
            for (Index b : all.sentences())  // pads from the second word on
                words.push_back(t == 0 ? start : static_cast<std::int32_t>((b + 3 * t) % 4));
            const Tensor logits = all.next(words);
            REQUIRE(logits.shape() == Shape{static_cast<Index>(words.size()), 1, 9});
            for (std::size_t r = 0; r < words.size(); ++r) {
                const auto b = static_cast<std::size_t>(all.sentences()[r]);
                const Tensor row = alone[b].next({words[r]});
                Tensor of_batch({1, 1, 9});
                std::copy_n(&logits(r, 0, 0), 9, of_batch.data());
                INFO("word " << t << " of sentence " << b);
                CHECK(max_difference(of_batch, row) < 10 * round_off);
            }
        }
        all.select({});
        CHECK_THROWS_WITH(all.next({}), Contains("0 words for 0 prefixes"));
    }
}

namespace {

/// Prefixes that fork and end, and what the decoder says of them: for each round the parents,
/// drawn.
void compare_forks(const Transformer& model, Index prefixes, std::uint64_t seed) {
    Random random(seed);
    const Ids src = padded_batch();
    const Tensor memory = model.encode(src);
    IncrementalDecoder decoder(model, src, prefixes);
    std::vector<std::vector<std::int32_t>> words(5, {start});
    std::vector<std::int32_t> of{0, 1, 2, 3, 4}, last(5, start);  // sentences, words
    for (Index t = 0; t < 19; ++t) {
        const Tensor logits = decoder.next(last);
        REQUIRE(std::ranges::equal(decoder.sentences(), of));
        for (std::size_t i = 0; i < words.size(); ++i) {
            const Tensor own = memory.rows(of[i], of[i] + 1);
            const Ids source_ids = src.rows(of[i], of[i] + 1);
            const Tensor whole =
                model.output.forward(model.decode(row_of(words[i]), own, source_ids));
            const Tensor row = whole.reshape({t + 1, 9}).rows(t, t + 1);
            INFO("round " << t << ", prefix " << i);
            REQUIRE(max_difference(logits.reshape({logits.dim(0), 9})
                                       .rows(static_cast<Index>(i), static_cast<Index>(i) + 1),
                                   row) < 10 * round_off);
        }
        const Tensor drawn = uniform({5 * prefixes, 2}, 0, 1, random.stream());
        const Index n = t % 5 == 4 ? 2 : 5 * prefixes;  // few go on, then all the room is used
        std::vector<std::int32_t> parents;
        std::vector<std::vector<std::int32_t>> longer;
        std::vector<std::int32_t> sentences_of;
        last.clear();
        for (Index i = 0; i < n; ++i) {
            const auto parent =
                static_cast<std::size_t>(drawn(i, 0) * static_cast<Real>(words.size()));
            last.push_back(static_cast<std::int32_t>(drawn(i, 1) * 4));  // pads among them
            parents.push_back(static_cast<std::int32_t>(parent));
            sentences_of.push_back(of[parent]);
            longer.push_back(words[parent]);
            longer.back().push_back(last.back());
        }
        decoder.select(parents);
        words = longer;
        of = sentences_of;
    }
}

}  // namespace

TEST_CASE("a prefix that forks goes on as if it had been alone") {
    for (const auto& [name, options] : kinds) {
        INFO(name);
        const Transformer model = random_model(options, 3);
        for (std::uint64_t seed = 1; seed <= seeds(3); ++seed)
            compare_forks(model, emulated() ? 1 : 3, seed);
    }
}

TEST_CASE("a prefix may fork into exactly the places that were held before") {
    const Transformer model = random_model(small(), 5);
    IncrementalDecoder decoder(model, source, 2);
    decoder.next({start});
    decoder.select({0, 0});
    decoder.next({1, 2});
    decoder.select({0, 0});  // the second goes, the first forks
    const Tensor logits = decoder.next({3, 3}).reshape({2, 9});
    CHECK(max_difference(logits.rows(0, 1), logits.rows(1, 2)) == 0);
    const Tensor whole =
        decoded(model, row_of({start, 1, 3}), model.encode(source)).reshape({3, 9});
    CHECK(max_difference(logits.rows(1, 2), whole.rows(2, 3)) < 10 * round_off);
}

TEST_CASE("keys and values find room however long a translation grows") {
    TransformerOptions options = small();
    options.positions.max_len = 70;  // the room is doubled twice and once more
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 70};
    const std::vector<Translation> batch = greedy_decode_cached(model, padded_batch(), decoding);
    for (std::size_t b : {std::size_t{0}, std::size_t{4}}) {
        if (emulated() && b > 0) continue;
        const Translation alone = greedy_decode(model, row_of(sentences[b]), decoding);
        CHECK(alone.ids.size() == 70);
        CHECK(batch[b].ids == alone.ids);
        CHECK(difference(batch[b].probabilities, alone.probabilities) < round_off);
    }
}

TEST_CASE("pads stay hidden when the room for keys grows") {
    TransformerOptions options = small();
    options.positions.max_len = 40;
    const Transformer model = random_model(options, 2);
    const Tensor memory = model.encode(source);
    IncrementalDecoder decoder(model, source);
    std::vector<std::int32_t> words{start};
    for (std::int32_t t = 1; t < 40; ++t) words.push_back(t % 3);
    for (std::size_t t = 0; t < words.size(); ++t) {
        const Tensor row = decoder.next({words[t]});  // [1, 1, 9]
        const Ids prefix = row_of({words.begin(), words.begin() + static_cast<long>(t) + 1});
        const Tensor whole = decoded(model, prefix, memory);  // [1, t + 1, 9]
        Tensor last({1, 1, 9});
        std::copy_n(whole.data() + whole.size() - 9, 9, last.data());
        INFO("word " << t);
        CHECK(max_difference(row, last) < 10 * round_off);
    }
}

TEST_CASE("attention of one query equals attention") {
    const Index heads = 3, room = 12, d = 40;
    Random random(2);
    const KeyValues kv{normal({4, heads, room, d}, random.stream()),
                       normal({4, heads, room, d}, random.stream())};
    const Ids chosen({3}, {0, 1, 3});
    const Tensor q = normal({3, heads, 1, d}, random.stream());
    Mask hidden = Mask::zeros({4, 1, room, 1});
    hidden(0, 0, 0, 0) = hidden(0, 0, 3, 0) = hidden(1, 0, 1, 0) = 1;
    for (Index j = 0; j < room; ++j) hidden(3, 0, j, 0) = 1;  // nothing to look at
    const std::vector<AttentionOptions> kinds_of_attention{
        {},
        {.scale = Real(0.3), .fill = -2},
        {.scale = Real(0.3), .fill = -2, .fill_place = FillPlace::before_scale}};
    for (const AttentionOptions& o : kinds_of_attention)
        for (Index length : {Index{1}, Index{5}, room}) {
            Tensor k({3, heads, length, d}), v({3, heads, length, d});
            Mask mask({3, 1, 1, length});
            for (Index r = 0; r < 3; ++r) {
                const Index b = chosen(r);
                for (Index h = 0; h < heads; ++h) {
                    std::copy_n(&kv.k(b, h, 0, 0), length * d, &k(r, h, 0, 0));
                    std::copy_n(&kv.v(b, h, 0, 0), length * d, &v(r, h, 0, 0));
                }
                for (Index j = 0; j < length; ++j) mask(r, 0, 0, j) = hidden(b, 0, j, 0);
            }
            const Tensor expected = attention(q, k, v, mask, o);
            for_threads([&](int) {
                CHECK(max_difference(attend_cached(q, kv, length, hidden, chosen, o), expected) <
                      round_off);
            });
        }
}

TEST_CASE("a hidden key has weight zero for one query") {
    const KeyValues kv{Tensor({1, 1, 3, 1}, {0, 0, 0}), Tensor({1, 1, 3, 1}, {4, Real(1e38), 6})};
    const Mask hidden({1, 1, 3, 1}, {0, 1, 0});
    const Tensor y = attend_cached(Tensor({1, 1, 1, 1}, {1}), kv, 3, hidden, Ids({1}, {0}), {});
    CHECK(y(0, 0, 0, 0) == 5);  // the mean of 4 and 6, whatever stands between them
}

TEST_CASE("a batch gives the same bits with any number of threads", "[fast]") {
    TransformerOptions options = toy_like();
    options.layer.attention.d_model = 96;
    options.layer.d_ff = 512;
    options.tgt_words = 3000;
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 8};
    const std::vector<Translation> one = greedy_decode_cached(model, padded_batch(), decoding);
    for_threads([&](int) {
        const std::vector<Translation> again =
            greedy_decode_cached(model, padded_batch(), decoding);
        for (std::size_t b = 0; b < one.size(); ++b) {
            CHECK(again[b].ids == one[b].ids);
            CHECK(again[b].probabilities == one[b].probabilities);
        }
    });
}

TEST_CASE("of equally likely words the first is taken") {
    Transformer model = random_model(small(), 1);
    model.output.weight.value.fill(0);
    model.output.bias.value.fill(-1);
    model.output.bias.value(2) = model.output.bias.value(6) = 3;
    const std::vector<std::int32_t> twos{2, 2, 2};
    CHECK(greedy_decode(model, source, {start, no_end, 3}).ids == twos);
    const Translation cached = cached_alone(model, source, {start, no_end, 3});
    CHECK(cached.ids == twos);
    const double others = 7 * std::exp(-4.0);
    CHECK(static_cast<double>(cached.probabilities[0]) == Approx(1 / (2 + others)).epsilon(1e-6));
}

TEST_CASE("an incremental decoder refuses what does not fit, and names the values") {
    const Transformer model = random_model(small(), 1);
    IncrementalDecoder decoder(model, padded_batch());
    CHECK_THROWS_WITH(decoder.next({start}), Contains("1 words for 5 prefixes"));
    CHECK_THROWS_WITH(decoder.select({0, 5}), Contains("no prefix 5 of 5"));
    CHECK_THROWS_WITH(decoder.select({0, -1}), Contains("no prefix -1 of 5"));
    CHECK_THROWS_WITH(decoder.select({0, 0, 1, 2, 3, 4}), Contains("6 prefixes, room for 5"));
    CHECK(std::ranges::equal(decoder.sentences(), std::vector{0, 1, 2, 3, 4}));
    decoder.select({1, 3});
    CHECK(std::ranges::equal(decoder.sentences(), std::vector{1, 3}));
    CHECK_THROWS_WITH(decoder.select({2}), Contains("no prefix 2 of 2"));
    CHECK_THROWS_WITH(IncrementalDecoder(model, source, 0), Contains("room for 0 prefixes"));
    for (int t = 0; t < 20; ++t) decoder.next({start, start});
    CHECK_THROWS_WITH(decoder.next({start, start}), Contains("20"));

    const KeyValues kv{Tensor::zeros({2, 3, 5, 4}), Tensor::zeros({2, 3, 5, 4})};
    const Mask hidden = Mask::zeros({2, 1, 5, 1});
    const auto one = [&](const Shape& q, Index length, std::initializer_list<std::int32_t> which) {
        const Ids sentence_ids({static_cast<Index>(which.size())}, which);
        return attend_cached(Tensor::zeros(q), kv, length, hidden, sentence_ids, {});
    };
    CHECK(one({1, 3, 1, 4}, 5, {1}).shape() == Shape{1, 3, 1, 4});
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 6, {1}), Contains("6 keys where there is room for 5"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 0, {1}), Contains("0 keys"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 5, {2}), Contains("place 2 of 2"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 5, {-1}), Contains("place -1 of 2"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 5, {0, 1}),
                      Contains("[1, 3, 1, 4], expected [2, 3, 1, 4]"));
    CHECK_THROWS_WITH(one({1, 3, 2, 4}, 5, {0}), Contains("[1, 3, 2, 4], expected [1, 3, 1, 4]"));
    CHECK_THROWS_WITH(one({3, 1, 4}, 5, {0}), Contains("must have four axes"));
    CHECK_THROWS_WITH(attend_cached(Tensor::zeros({1, 3, 1, 4}), kv, 5, Mask(), Ids({1}, {0}), {}),
                      Contains("hidden has shape [0], expected [2, 1, 5, 1]"));
    CHECK_THROWS_WITH(
        attend_cached(Tensor::zeros({1, 3, 1, 4}), {kv.k, Tensor::zeros({2, 3, 4, 4})}, 4, hidden,
                      Ids({1}, {0}), {}),
        Contains("v has shape [2, 3, 4, 4], expected [2, 3, 5, 4]"));
}

TEST_CASE("no queries are no error") {
    const KeyValues kv{Tensor::zeros({2, 3, 4, 5}), Tensor::zeros({2, 3, 4, 5})};
    const Tensor y =
        attend_cached(Tensor({0, 3, 1, 5}), kv, 4, Mask::zeros({2, 1, 4, 1}), Ids({0}), {});
    CHECK(y.shape() == Shape{0, 3, 1, 5});
}

TEST_CASE("every way has plain's attention of one query") {
    for (const Index d : {1, 31, 33, 64, 100})
        for (const Index length : {1, 3, 33, 130}) {
            CAPTURE(d, length);
            const Index heads = 2, room = length + 2;
            Random random(static_cast<std::uint64_t>(length));
            const KeyValues kv{normal({4, heads, room, d}, random.stream()),
                               normal({4, heads, room, d}, random.stream())};
            const Ids chosen({3}, {0, 1, 3});
            const Tensor q = normal({3, heads, 1, d}, random.stream());
            Mask hidden = Mask::zeros({4, 1, room, 1});
            for (Index j = 0; j < room; ++j) {
                hidden(1, 0, j, 0) = j % 3 == 1;
                hidden(3, 0, j, 0) = 1;  // nothing to look at
            }
            for (const AttentionOptions& o :
                 {AttentionOptions{},
                  AttentionOptions{
                      .scale = Real(0.3), .fill = -2, .fill_place = FillPlace::before_scale}})
                same_in_every_way(
                    [&] { return std::vector{attend_cached(q, kv, length, hidden, chosen, o)}; });
        }
}

TEST_CASE("every way appends keys and values where they belong, and doubles their room") {
    const Index heads = 3, room = 4, d = 5;
    Random random(6);
    const Tensor k = normal({2, heads, 1, d}, random.stream()),
                 v = normal({2, heads, 1, d}, random.stream()),
                 old_k = normal({3, heads, room, d}, random.stream()),
                 old_v = normal({3, heads, room, d}, random.stream());
    const Ids chosen({2}, {0, 2});
    for (const Way way : ways_here())
        for (const Index at : {Index{0}, Index{2}, room - 1}) {
            const Following following(way);
            CAPTURE(to_string(way), at);
            KeyValues kv{old_k.clone(), old_v.clone()};
            append(kv, k, v, at, chosen);
            const Tensor more_k = double_room(kv.k, chosen);
            CHECK(more_k.shape() == Shape{3, heads, 2 * room, d});
            for (Index b = 0; b < 3; ++b)
                for (Index h = 0; h < heads; ++h)
                    for (Index j = 0; j < room; ++j)
                        for (Index c = 0; c < d; ++c) {
                            const bool is_new = j == at && b != 1;
                            const Real k_here = is_new ? k(b / 2, h, 0, c) : old_k(b, h, j, c);
                            const Real v_here = is_new ? v(b / 2, h, 0, c) : old_v(b, h, j, c);
                            REQUIRE(kv.k(b, h, j, c) == k_here);
                            REQUIRE(kv.v(b, h, j, c) == v_here);
                            if (b != 1) REQUIRE(more_k(b, h, j, c) == k_here);
                        }
        }
}

TEST_CASE("every way copies keys and values from place to place, and nothing else") {
    const Index heads = 3, room = 4, d = 5;
    Random random(7);
    const Tensor old_k = normal({5, heads, room, d}, random.stream()),
                 old_v = normal({5, heads, room, d}, random.stream());
    const std::vector<Index> now_from{0, 2, 2, 3, 0};  // what each place holds afterwards
    for (const Way way : ways_here())
        for (const Index length : {Index{1}, Index{3}, room}) {
            const Following following(way);
            CAPTURE(to_string(way), length);
            KeyValues kv{old_k.clone(), old_v.clone()};
            copy_places(kv, length, Ids({2}, {2, 0}), Ids({2}, {1, 4}));
            for (Index b = 0; b < 5; ++b)
                for (Index h = 0; h < heads; ++h)
                    for (Index j = 0; j < room; ++j)
                        for (Index c = 0; c < d; ++c) {
                            const Index a = j < length ? now_from[static_cast<std::size_t>(b)] : b;
                            REQUIRE(kv.k(b, h, j, c) == old_k(a, h, j, c));
                            REQUIRE(kv.v(b, h, j, c) == old_v(a, h, j, c));
                        }
        }
}

TEST_CASE("several queries may read the same keys and values") {
    Random random(3);
    const KeyValues kv{normal({2, 2, 6, 5}, random.stream()),
                       normal({2, 2, 6, 5}, random.stream())};
    const Tensor q = normal({4, 2, 1, 5}, random.stream());
    Mask hidden = Mask::zeros({2, 1, 6, 1});
    hidden(1, 0, 2, 0) = 1;
    const Tensor y = attend_cached(q, kv, 5, hidden, Ids({4}, {1, 0, 1, 1}), {});
    for (std::int32_t i = 0; i < 4; ++i) {
        const std::int32_t place = i == 1 ? 0 : 1;
        const Tensor alone = attend_cached(q.rows(i, i + 1), kv, 5, hidden, Ids({1}, {place}), {});
        CHECK(max_difference(y.rows(i, i + 1), alone) < round_off);
    }
}

TEST_CASE("every way finds plain's words, with the cache and without") {
    for (const auto& [name, options] : kinds) {
        INFO(name);
        const Transformer model = random_model(options, 2);
        const auto of = [&](const std::vector<Translation>& translations) {
            std::vector<Tensor> list;
            for (const Translation& t : translations) {
                Tensor words({static_cast<Index>(t.ids.size())});
                std::copy(t.ids.begin(), t.ids.end(), words.data());
                Tensor probabilities({static_cast<Index>(t.probabilities.size())});
                std::copy(t.probabilities.begin(), t.probabilities.end(), probabilities.data());
                list.insert(list.end(), {words, probabilities});
                list.push_back(Tensor({1}, {Real(t.finished)}));
            }
            return list;
        };
        const std::int32_t end =  // sentences end at different times
            greedy_decode(model, row_of(sentences[1]), {start, no_end, 5}).ids[3];
        for (const std::int32_t last : {end, no_end})
            same_in_every_way([&] {  // 18 words are more than the room that there is at first
                return of(greedy_decode_cached(model, padded_batch(), {start, last, 18}));
            });
        same_in_every_way([&] {
            return of({greedy_decode(model, row_of(sentences[0]), {start, end, 6})});
        });
    }
}

TEST_CASE("in every way pads stay hidden when the room for keys grows") {
    for (const bool hide : {true, false}) {
        TransformerOptions options = toy_like();
        options.positions.max_len = 40;
        options.mask_target_pads = hide;
        const Transformer model = random_model(options, 2);
        same_in_every_way([&] {
            IncrementalDecoder decoder(model, padded_batch());
            Tensor last;
            for (std::int32_t t = 0; t < 36; ++t) {
                if (t == 5) decoder.select({0, 2, 4});  // nobody copies the others' rows again
                if (t == 20) decoder.select({2});
                std::vector<std::int32_t> words;
                for (std::int32_t b : decoder.sentences())
                    words.push_back(t == 0 ? start : (b + t) % 3);  // pads among them
                last = decoder.next(words);
            }
            return std::vector{last};
        });
    }
}
