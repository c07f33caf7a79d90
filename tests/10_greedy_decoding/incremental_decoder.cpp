// Per way: decoding with kept keys and values.
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "tests/decoding.hpp"
#include "tests/sentences.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

/// The logits of the whole prefix.
Tensor decoded(const Transformer& model, const Ids& prefix, const Tensor& memory) {
    return model.output.forward(model.decode(prefix, memory, source));
}

}  // namespace

TEST_CASE("one row with cached keys equals the last row of the whole prefix, pads among it") {
    std::vector<std::int32_t> words{start, 3, 0, 5, 5, 0, 0, 2, start, 7};
    for (std::int32_t t = 10; t < 20; ++t) words.push_back(t % 3);  // the room grows after 16
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
    IncrementalDecoder decoder(model, src);
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
        const Index n = t % 5 == 4 ? 2 : 5 * prefixes;  // few go on, then the most
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

TEST_CASE("a prefix may fork into exactly the rows that were there before") {
    const Transformer model = random_model(small(), 5);
    IncrementalDecoder decoder(model, source);
    decoder.next({start});
    decoder.select({0, 0});
    decoder.next({1, 2});
    decoder.select({0, 0});  // the second goes, the first forks
    const Tensor logits = decoder.next({3, 3}).reshape({2, 9});
    CHECK(max_difference(logits.rows(0, 1), logits.rows(1, 2)) < round_off);
    const Tensor whole =
        decoded(model, row_of({start, 1, 3}), model.encode(source)).reshape({3, 9});
    CHECK(max_difference(logits.rows(1, 2), whole.rows(2, 3)) < 10 * round_off);
}

TEST_CASE("keys and values find room however long a translation grows") {
    TransformerOptions options = small();
    options.positions.max_len = 70;  // the room is doubled twice and once more
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 70};
    const Translation plain = greedy_decode(model, source, decoding),
                      cached = greedy_decode_cached(model, source, decoding).front();
    CHECK(plain.ids.size() == 70);
    CHECK(cached.ids == plain.ids);
    CHECK(difference(cached.probabilities, plain.probabilities) < round_off);
}

TEST_CASE("in every way pads stay hidden when the room for keys grows") {
    for (const bool hide : {true, false}) {
        TransformerOptions options = small_toy();
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

TEST_CASE("decoding gives the same bits with any number of threads, a batch and one alone",
          "[fast]") {
    TransformerOptions options = small_toy();
    options.layer.attention.d_model = 96;
    options.layer.d_ff = 512;
    options.tgt_words = 3000;
    const Transformer model = random_model(options, 1);
    const DecodingOptions decoding{start, no_end, 8};
    same_for_threads([&] {
        std::vector<Translation> all = greedy_decode_cached(model, padded_batch(), decoding);
        all.push_back(greedy_decode(model, source, decoding));
        return numbers_of(all);
    });
}

TEST_CASE("attention of one query equals attention") {
    const Index heads = 3, room = 12, d = 40;
    Random random(2);
    const KeyValues kv{normal({4, heads, room, d}, random.stream()),
                       normal({4, heads, room, d}, random.stream())};
    const Ids chosen({4}, {0, 1, 3, 1});
    const Tensor q = normal({4, heads, 1, d}, random.stream());
    Mask hidden = Mask::zeros({4, 1, room, 1});
    hidden(0, 0, 0, 0) = hidden(0, 0, 3, 0) = hidden(1, 0, 1, 0) = 1;
    for (Index j = 0; j < room; ++j) hidden(3, 0, j, 0) = 1;  // nothing to look at
    const std::vector<AttentionOptions> kinds_of_attention{
        {},
        {.scale = Real(0.3), .fill = -2},
        {.scale = Real(0.3), .fill = -2, .fill_place = FillPlace::before_scale}};
    for (const AttentionOptions& o : kinds_of_attention)
        for (Index length : {Index{1}, Index{5}, room}) {
            Tensor k({4, heads, length, d}), v({4, heads, length, d});
            Mask mask({4, 1, 1, length});
            for (Index r = 0; r < 4; ++r) {
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
    CHECK(y(0, 0, 0, 0) == 5);  // the mean of 4 and 6, whatever is between them
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

TEST_CASE("every way appends keys and values behind those that are there") {
    const Index heads = 3, room = 4, d = 5;
    Random random(6);
    const Tensor k = normal({2, heads, 1, d}, random.stream()),
                 v = normal({2, heads, 1, d}, random.stream()),
                 old_k = normal({2, heads, room, d}, random.stream()),
                 old_v = normal({2, heads, room, d}, random.stream());
    for (const Way way : ways_here())
        for (const Index length : {Index{0}, Index{2}, room - 1}) {
            const ScopedWay scoped(way);
            CAPTURE(to_string(way), length);
            KeyValues kv{old_k.clone(), old_v.clone()};
            append(kv, length, k, v);
            for (Index b = 0; b < 2; ++b)
                for (Index h = 0; h < heads; ++h)
                    for (Index j = 0; j < room; ++j)
                        for (Index c = 0; c < d; ++c) {
                            const bool is_new = j == length;
                            REQUIRE(kv.k(b, h, j, c) ==
                                    (is_new ? k(b, h, 0, c) : old_k(b, h, j, c)));
                            REQUIRE(kv.v(b, h, j, c) ==
                                    (is_new ? v(b, h, 0, c) : old_v(b, h, j, c)));
                        }
        }
}

TEST_CASE("every way gathers rows of keys and values, with the room that is asked for") {
    const Index heads = 3, old_room = 4, d = 5;
    Random random(7);
    const KeyValues kv{normal({3, heads, old_room, d}, random.stream()),
                       normal({3, heads, old_room, d}, random.stream())};
    const Ids rows({4}, {2, 0, 2, 2});
    for (const Way way : ways_here())
        for (const Index length : {Index{0}, Index{1}, old_room})
            for (const Index room : {old_room, 2 * old_room}) {
                const ScopedWay scoped(way);
                CAPTURE(to_string(way), length, room);
                const KeyValues y = gather(kv, length, rows, room);
                REQUIRE(y.k.shape() == Shape{4, heads, room, d});
                REQUIRE(y.v.shape() == y.k.shape());
                for (Index i = 0; i < 4; ++i)
                    for (Index h = 0; h < heads; ++h)
                        for (Index j = 0; j < length; ++j)
                            for (Index c = 0; c < d; ++c) {
                                REQUIRE(y.k(i, h, j, c) == kv.k(rows(i), h, j, c));
                                REQUIRE(y.v(i, h, j, c) == kv.v(rows(i), h, j, c));
                            }
                CHECK(gather(kv, length, Ids({0}), room).k.shape() == Shape{0, heads, room, d});
            }
}

TEST_CASE("an incremental decoder refuses what does not fit, and names the values") {
    const Transformer model = random_model(small(), 1);
    IncrementalDecoder decoder(model, padded_batch());
    CHECK_THROWS_WITH(decoder.next({start}), Contains("1 words for 5 prefixes"));
    CHECK_THROWS_WITH(decoder.select({0, 5}), Contains("parent 5, but there are 5 prefixes"));
    CHECK_THROWS_WITH(decoder.select({0, -1}), Contains("parent -1, but there are 5 prefixes"));
    CHECK(std::ranges::equal(decoder.sentences(), std::vector{0, 1, 2, 3, 4}));
    decoder.select({1, 3});
    CHECK(std::ranges::equal(decoder.sentences(), std::vector{1, 3}));
    CHECK_THROWS_WITH(decoder.select({2}), Contains("parent 2, but there are 2 prefixes"));
    for (int t = 0; t < 20; ++t) decoder.next({start, start});
    CHECK_THROWS_WITH(decoder.next({start, start}), Contains("20"));

    const KeyValues kv{Tensor::zeros({2, 3, 5, 4}), Tensor::zeros({2, 3, 5, 4})};
    const Mask hidden = Mask::zeros({2, 1, 5, 1});
    const auto one = [&](const Shape& q, Index length, std::initializer_list<std::int32_t> which) {
        const Ids sentence_ids({static_cast<Index>(which.size())}, which);
        return attend_cached(Tensor::zeros(q), kv, length, hidden, sentence_ids, {});
    };
    CHECK(one({1, 3, 1, 4}, 5, {1}).shape() == Shape{1, 3, 1, 4});
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 6, {1}), Contains("6 keys, expected 1 to 5"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 0, {1}), Contains("0 keys"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 5, {2}), Contains("row 2, but there are 2 rows"));
    CHECK_THROWS_WITH(one({1, 3, 1, 4}, 5, {-1}), Contains("row -1, but there are 2 rows"));
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
