// Decoding: the device against the processor.
#include <cmath>
#include <numeric>

#include "chapters/09_training/likeliest.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/10_greedy_decoding/incremental_decoder.hpp"
#include "tests/devices.hpp"
#include "tests/transformers.hpp"

using namespace abh;

namespace {

constexpr std::int32_t start = 9, no_end = -1;

/// Five sentences of 4, 6, 1, 5 and 2 words.
Ids padded_batch() {
    return Ids({5, 6}, {3, 1, 6, 2, 0, 0, 5, 5, 1, 2, 4, 3, 6, 0, 0,
                        0, 0, 0, 1, 2, 3, 4, 5, 0, 2, 6, 0, 0, 0, 0});
}

/// A model with random weights, biases other than 0 among them.
Transformer random_model(TransformerOptions options, std::uint64_t seed) {
    options.src_words = 7;
    options.tgt_words = 10;
    Transformer model(options, Random(seed));
    for (const NamedParameter& p : parameters_of(model))
        p.parameter->value +=
            uniform(p.parameter->value.shape(), Real(-0.5), Real(0.5), model.random().stream());
    return model;
}

}  // namespace

TEST_CASE("attention of one query is the same on the device", "[cuda]") {
    for (const Index d : {1, 31, 33, 64, 100})
        for (const Index length : {1, 3, 33, 130}) {
            const Index heads = 2, room = length + 2;
            Random random(length);
            const KeyValues kv{normal({4, heads, room, d}, random.stream()),
                               normal({4, heads, room, d}, random.stream())};
            const Ids sentences({3}, {0, 1, 3});
            const Tensor q = normal({3, heads, 1, d}, random.stream());
            Mask hidden = Mask::zeros({4, 1, room, 1});
            for (Index j = 0; j < room; ++j) {
                hidden(1, 0, j, 0) = j % 3 == 1;
                hidden(3, 0, j, 0) = 1;  // nothing to look at
            }
            for (const AttentionOptions& o :
                 {AttentionOptions{},
                  AttentionOptions{
                      .scale = Real(0.3), .fill = -2, .fill_place = FillPlace::before_scale}}) {
                const auto [host, device] =
                    on_both([&] { return attend_one(q, kv, length, hidden, sentences, o); });
                INFO("d " << d << ", " << length << " keys");
                // Scores are sums of d products, some tens at most, where d is 100 and the scale
                // 0.3; their round-off is a relative one of the weights.
                CHECK(near(host, device, 200));
            }
        }
}

TEST_CASE("a hidden key has weight zero on the device", "[cuda]") {
    const OnDevice on_device;
    const KeyValues kv{Tensor({1, 1, 3, 1}, {0, 0, 0}), Tensor({1, 1, 3, 1}, {4, Real(1e38), 6})};
    const Mask hidden({1, 1, 3, 1}, {0, 1, 0});
    const Tensor y = attend_one(Tensor({1, 1, 1, 1}, {1}), kv, 3, hidden, Ids({1}, {0}), {});
    CHECK(y(0, 0, 0, 0) == 5);
}

TEST_CASE("no queries are no error on the device", "[cuda]") {
    const OnDevice on_device;
    const KeyValues kv{Tensor::zeros({2, 3, 4, 5}), Tensor::zeros({2, 3, 4, 5})};
    const Tensor y =
        attend_one(Tensor({0, 3, 1, 5}), kv, 4, Mask::zeros({2, 1, 4, 1}), Ids({0}), {});
    CHECK(y.shape() == Shape{0, 3, 1, 5});
}

TEST_CASE("the device finds the processor's translations, with the cache and without", "[cuda]") {
    for (TransformerOptions options : {toy_like(), paper_like(NormPlacement::post),
                                       paper_like(NormPlacement::pre), shared_head_like()}) {
        options.positions.max_len = 20;  // more than the room that there is at first
        const Transformer model = random_model(options, 2);
        const auto endless = on_both([&] {
            return greedy_decode_cached(model, padded_batch(), {start, no_end, 20});
        });
        const std::int32_t end = endless.first[1].ids[3];  // sentences end at different times
        const auto cached = on_both([&] {
            return greedy_decode_cached(model, padded_batch(), {start, end, 20});
        });
        const auto plain = on_both([&] {
            std::vector<Translation> list;
            list.push_back(greedy_decode(model, Ids({1, 4}, {3, 1, 6, 2}), {start, end, 6}));
            return list;
        });
        for (const auto& [host, device] : {endless, cached, plain}) {
            REQUIRE(host.size() == device.size());
            for (std::size_t b = 0; b < host.size(); ++b) {
                INFO("sentence " << b);
                CHECK(host[b].ids == device[b].ids);
                CHECK(host[b].finished == device[b].finished);
                REQUIRE(host[b].probabilities.size() == device[b].probabilities.size());
                for (std::size_t t = 0; t < host[b].probabilities.size(); ++t)
                    CHECK(static_cast<double>(device[b].probabilities[t]) ==
                          Approx(static_cast<double>(host[b].probabilities[t])).margin(round_off));
            }
        }
    }
}

TEST_CASE("pads stay hidden on the device when the room for keys grows", "[cuda]") {
    for (const bool hide : {true, false}) {
        TransformerOptions options = toy_like();
        options.positions.max_len = 40;
        options.mask_target_pads = hide;
        const Transformer model = random_model(options, 2);
        const auto run = [&] {
            IncrementalDecoder decoder(model, padded_batch());
            Tensor last;
            for (std::int32_t t = 0; t < 36; ++t) {
                if (t == 5) decoder.keep({0, 2, 4});  // the room of the others is copied no more
                if (t == 20) decoder.keep({4});
                std::vector<std::int32_t> words;
                for (std::int32_t b : decoder.sentences())
                    words.push_back(t == 0 ? start : (b + t) % 3);  // pads among them
                last = decoder.next(words);
            }
            return last;
        };
        const auto [host, device] = on_both(run);
        CHECK(max_difference(host, device) < 10 * round_off);
    }
}

TEST_CASE("a word of decoding sends the words before it, and brings back choices", "[cuda]") {
    const OnDevice device;
    TransformerOptions options = toy_like();
    options.positions.max_len = 40;
    const Transformer model = random_model(options, 2);
    greedy_decode_cached(model, padded_batch(), {start, no_end, 2});  // the weights go over
    const auto cost = [&](Index words) {
        const Transfers before = transfers();
        greedy_decode_cached(model, padded_batch(), {start, no_end, words});
        const Transfers after = transfers();
        return std::array{after.to_device - before.to_device, after.to_host - before.to_host,
                          after.bytes_to_device - before.bytes_to_device,
                          after.bytes_to_host - before.bytes_to_host};
    };
    const auto few = cost(10), many = cost(36);  // the room is doubled in between, twice
    CHECK(many[0] - few[0] == 26);
    CHECK(many[1] - few[1] == 26);
    CHECK(many[2] - few[2] == 26 * 5 * 4);
    CHECK(many[3] - few[3] == 26 * 5 * static_cast<std::int64_t>(sizeof(Choice)));

    const auto plain = [&](Index words) {
        const Transfers before = transfers();
        greedy_decode(model, Ids({1, 3}, {1, 2, 3}), {start, no_end, words});
        const Transfers after = transfers();
        return std::pair(after.to_device - before.to_device, after.to_host - before.to_host);
    };
    const auto short_one = plain(3), long_one = plain(9);
    CHECK(long_one.first - short_one.first == 6);  // the prefix
    CHECK(long_one.second - short_one.second == 6);
}
