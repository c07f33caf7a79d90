// Per way: decoding with kept keys and values.
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"

#include <algorithm>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "tests/decoding.hpp"
#include "tests/sentences.hpp"
#include "tests/ways.hpp"

using namespace abh;

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

TEST_CASE("a prefix that forks goes on as if it had been alone") {
    struct Prefix {
        std::vector<std::int32_t> words;
        std::int32_t sentence;
    };
    const Ids src = padded_batch();
    const Index most = emulated() ? 5 : 15;
    for (const auto& [name, options] : kinds)
        for (std::uint64_t seed = 1; seed <= seeds(3); ++seed) {
            const Transformer model = random_model(options, 3);
            const Tensor memory = model.encode(src);
            Random random(seed);
            IncrementalDecoder decoder(model, src);
            std::vector<Prefix> prefixes;
            for (const std::int32_t b : {0, 1, 2, 3, 4}) prefixes.push_back({{start}, b});
            for (Index t = 0; t < 19; ++t) {  // the room for keys grows after 16
                std::vector<std::int32_t> last, parents;
                for (const Prefix& prefix : prefixes) last.push_back(prefix.words.back());
                const Tensor logits = decoder.next(last);  // [prefixes, 1, 9]
                REQUIRE(decoder.sentences().size() == prefixes.size());
                for (std::size_t i = 0; i < prefixes.size(); ++i) {
                    INFO(name << ", round " << t << ", prefix " << i);
                    const Index row = static_cast<Index>(i), b = prefixes[i].sentence;
                    REQUIRE(decoder.sentences()[i] == b);
                    const Tensor whole = model.output.forward(model.decode(
                        row_of(prefixes[i].words), memory.rows(b, b + 1), src.rows(b, b + 1)));
                    REQUIRE(max_difference(logits.rows(row, row + 1).reshape({1, 9}),
                                           whole.reshape({t + 1, 9}).rows(t, t + 1)) <
                            10 * round_off);
                }
                const Tensor drawn = uniform({most, 2}, 0, 1, random.stream());
                const Index n = t % 5 == 4 ? 2 : most;  // few go on, then the most
                std::vector<Prefix> longer;
                for (Index i = 0; i < n; ++i) {
                    parents.push_back(static_cast<std::int32_t>(
                        drawn(i, 0) * static_cast<Real>(prefixes.size())));
                    longer.push_back(prefixes[static_cast<std::size_t>(parents.back())]);
                    longer.back().words.push_back(
                        static_cast<std::int32_t>(drawn(i, 1) * 4));  // pads among them
                }
                decoder.select(parents);
                prefixes = longer;
            }
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
    const std::vector<AttentionOptions> kinds_of_attention{
        {},
        {.scale = Real(0.3), .fill = -2},
        {.scale = Real(0.3), .fill = -2, .fill_place = FillPlace::before_scale}};
    for (const Index d : {1, 31, 33, 64, 100})
        for (const Index length : {1, 3, 33, 130}) {
            CAPTURE(d, length);
            const Index heads = 2, room = length + 2;
            Random random(static_cast<std::uint64_t>(length));
            const KeyValues kv{normal({4, heads, room, d}, random.stream()),
                               normal({4, heads, room, d}, random.stream())};
            const Ids chosen({4}, {0, 1, 3, 1});
            const Tensor q = normal({4, heads, 1, d}, random.stream());
            Mask hidden = Mask::zeros({4, 1, room, 1});
            for (Index j = 0; j < room; ++j) {
                hidden(1, 0, j, 0) = j % 3 == 1;
                hidden(3, 0, j, 0) = 1;  // nothing to look at
            }
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
            for (const AttentionOptions& o : kinds_of_attention) {
                const Tensor expected = [&] {
                    const ScopedWay plain(Way::plain);
                    return attention(q, k, v, mask, o);
                }();
                for_threads([&](int) {
                    CHECK(agree(expected, attend_cached(q, kv, length, hidden, chosen, o)));
                });
            }
        }
}

TEST_CASE("a hidden key has weight zero for one query") {
    const KeyValues kv{Tensor({1, 1, 3, 1}, {0, 0, 0}), Tensor({1, 1, 3, 1}, {4, Real(1e38), 6})};
    const Mask hidden({1, 1, 3, 1}, {0, 1, 0});
    const Tensor y = attend_cached(Tensor({1, 1, 1, 1}, {1}), kv, 3, hidden, Ids({1}, {0}), {});
    CHECK(y(0, 0, 0, 0) == 5);  // the mean of 4 and 6, whatever is between them
}

TEST_CASE("every way appends keys and values behind those that are there") {
    const Index heads = 3, room = 4, d = 5;
    Random random(6);
    const Tensor k = normal({2, heads, 1, d}, random.stream()),
                 v = normal({2, heads, 1, d}, random.stream()),
                 old_k = normal({2, heads, room, d}, random.stream()),
                 old_v = normal({2, heads, room, d}, random.stream());
    for (const Index length : {Index{0}, Index{2}, room - 1}) {
        CAPTURE(length);
        KeyValues kv{old_k.clone(), old_v.clone()}, expected{old_k.clone(), old_v.clone()};
        append(kv, length, k, v);
        for (Index head = 0; head < 2 * heads; ++head) {
            std::copy_n(k.data() + head * d, d, expected.k.data() + (head * room + length) * d);
            std::copy_n(v.data() + head * d, d, expected.v.data() + (head * room + length) * d);
        }
        check_same_bits({expected.k, expected.v}, {kv.k, kv.v});
    }
}

TEST_CASE("every way gathers rows of keys and values, with the room that is asked for") {
    const Index heads = 3, old_room = 4, d = 5;
    Random random(7);
    const KeyValues kv{normal({3, heads, old_room, d}, random.stream()),
                       normal({3, heads, old_room, d}, random.stream())};
    const Ids rows({4}, {2, 0, 2, 2});
    for (const Index length : {Index{0}, Index{1}, old_room})
        for (const Index room : {old_room, 2 * old_room}) {
            CAPTURE(length, room);
            const KeyValues y = gather(kv, length, rows, room);
            REQUIRE(y.k.shape() == Shape{4, heads, room, d});
            REQUIRE(y.v.shape() == y.k.shape());
            for (Index i = 0; i < 4; ++i)
                for (Index h = 0; h < heads; ++h) {
                    const Real *const k = &y.k(i, h, 0, 0), *const v = &y.v(i, h, 0, 0);
                    CHECK(std::equal(k, k + length * d, &kv.k(rows(i), h, 0, 0)));
                    CHECK(std::equal(v, v + length * d, &kv.v(rows(i), h, 0, 0)));
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
    decoder.select({});
    CHECK_THROWS_WITH(decoder.next({}), Contains("0 words for 0 prefixes"));

    const KeyValues kv{Tensor::zeros({2, 3, 5, 4}), Tensor::zeros({2, 3, 5, 4})};
    const Mask hidden = Mask::zeros({2, 1, 5, 1});
    const auto one = [&](const Shape& q, Index length, std::initializer_list<std::int32_t> which) {
        const Ids sentence_ids({static_cast<Index>(which.size())}, which);
        return attend_cached(Tensor::zeros(q), kv, length, hidden, sentence_ids, {});
    };
    CHECK(one({1, 3, 1, 4}, 5, {1}).shape() == Shape{1, 3, 1, 4});
    CHECK(one({0, 3, 1, 4}, 5, {}).shape() == Shape{0, 3, 1, 4});
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
