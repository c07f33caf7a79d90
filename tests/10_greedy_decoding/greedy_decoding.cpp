// Per way: translating word by word.
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/09_training/loop/task.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "tests/decoding.hpp"
#include "tests/sentences.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

/// One sentence with a key-value cache.
Translation cached_alone(const Transformer& model, const Ids& src, const DecodingOptions& options) {
    const std::vector<Translation> results = greedy_decode_cached(model, src, options);
    REQUIRE(results.size() == 1);
    return results.front();
}

}  // namespace

TEST_CASE("decoding with a key-value cache gives the same words and probabilities") {
    TransformerOptions options = small();
    options.positions.max_len = 70;  // the room for keys is doubled three times
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 1000};
    const Translation plain = greedy_decode(model, source, decoding),
                      cached = cached_alone(model, source, decoding);
    CHECK(plain.ids.size() == 70);
    CHECK(cached.ids == plain.ids);
    CHECK(difference(cached.probabilities, plain.probabilities) < round_off);
}

TEST_CASE("every way finds plain's words, with the cache and without") {
    for (const auto& [name, options] : kinds) {
        INFO(name);
        const Transformer model = random_model(options, 2);
        const std::int32_t end =  // sentences end at different times
            greedy_decode(model, row_of(sentences[1]), {start, no_end, 5}).ids[3];
        for (const std::int32_t last : {end, no_end})
            same_in_every_way([&] {  // 18 words are more than the room that there is at first
                return numbers_of(greedy_decode_cached(model, padded_batch(), {start, last, 18}));
            });
        same_in_every_way([&] {
            return numbers_of(greedy_decode(model, row_of(sentences[0]), {start, end, 6}));
        });
    }
}

TEST_CASE("every word is the likeliest after the words before it") {
    for (const auto& [name, options] : kinds) {
        const Transformer model = random_model(options, 3);
        const Translation t = greedy_decode(model, source, {start, no_end, 6});
        std::vector<std::int32_t> words{start};
        words.insert(words.end(), t.ids.begin(), t.ids.end() - 1);
        const Tensor logits = model.logits(source, row_of(words));  // [1, 6, 9]
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

TEST_CASE("a small model trained on the toy translates its sentences, and knows which are exact") {
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
        const ScopedWay fast(Way::fast);  // the device is to decode; how it trains, chapter 9 shows
        train(model, task.corpus, task.training, [](const StepReport&) {});
    }

    const DecodingOptions options{task.corpus.target.id("S"), task.corpus.target.id("E"), 50};
    std::vector<SentencePair> pairs = task.corpus.train;
    pairs.push_back(task.corpus.held_out.front());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Ids src = source_ids(task.corpus.source, pairs[i].source);
        const Translation t = greedy_decode(model, src, options);
        CHECK(t.finished);
        CHECK(cached_alone(model, src, options).ids == t.ids);
        std::vector<std::string> words;
        for (const std::int32_t id : t.ids) words.push_back(task.corpus.target.word(id));
        const bool exact = words == pairs[i].target;
        CHECK(evaluate(model, task.corpus, std::span(pairs).subspan(i, 1)).exact == exact);
        if (i == 3) continue;  // which words an unseen sentence gets, nobody promises
        CHECK(exact);
        CHECK(*std::min_element(t.probabilities.begin(), t.probabilities.end()) > Real(0.5));
    }
}

TEST_CASE("a request that cannot be met is refused, and the values are named") {
    const Transformer model = random_model(small(), 1);
    const DecodingOptions options{start, no_end, 5};
    const auto both = [&](const Ids& src, const DecodingOptions& o, const std::string& message) {
        CHECK_THROWS_WITH(greedy_decode(model, src, o), Contains(message));
        CHECK_THROWS_WITH(cached_alone(model, src, o), Contains(message));
    };
    CHECK_THROWS_WITH(greedy_decode(model, Ids::full({2, 3}, 1), options),
                      Contains("src has shape [2, 3], expected [1, Ls]"));
    both(Ids({0, 3}), options, "src has shape [0, 3], expected [B, Ls]");
    both(Ids::full({3}, 1), options, "src has shape [3], expected [B, Ls]");
    both(Ids({1, 0}), options, "src has shape [1, 0]");
    both(Ids::full({1, 21}, 1), options,
         "the sentence has 21 words, but the model takes at most 20");
    const Ids longest = Ids::full({1, 20}, 1);
    CHECK(greedy_decode(model, longest, options).ids == cached_alone(model, longest, options).ids);
    both(source, {start, no_end, 0}, "max_words is 0, expected at least 1");
    both(source, {0, no_end, 5}, "start symbol 0 is padding");
    both(row_of({1, 7}), options, "7");
    both(source, {9, no_end, 5}, "9");
    CHECK_THROWS_WITH(cached_alone(model, source, {start, no_end, 5, true}), Contains("dropout"));
}
