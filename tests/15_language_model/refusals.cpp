// Once: what does not fit is refused in a sentence.
#include <cmath>

#include "chapters/15_language_model/continuation.hpp"
#include "chapters/15_language_model/lines.hpp"
#include "chapters/15_language_model/sample.hpp"
#include "chapters/15_language_model/sampling.hpp"
#include "lib/program/output.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// The message with which something is refused.
template <class F>
std::string refused(const F& f) {
    try {
        f();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "accepted";
}

Random draws(3);

LlamaOptions small() {
    LlamaOptions o{.words = 9, .n_layers = 1, .context = 4};
    o.block = {.attention = {.d_model = 8, .n_heads = 2, .n_kv_heads = 1}, .d_ff = 5};
    return o;
}

}  // namespace

TEST_CASE("a norm refuses what does not fit") {
    const auto made = [](Index width, Real eps) { return refused([&] { RmsNorm(width, eps); }); };
    CHECK(made(0, 0) == "rms norm: width 0, expected at least 1");
    CHECK(made(4, -1) == "rms norm: epsilon -1, expected 0 or more");
    CHECK_THAT(made(4, NAN), Contains("epsilon nan"));
    RmsNorm norm(4);
    RmsNorm::Cache cache;
    norm.forward(Tensor::zeros({2, 4}), &cache);
    CHECK(refused([&] {
              norm.forward(Tensor::zeros({2, 3}));
          }) == "rms norm: x has shape [2, 3], expected [..., 4]");
    CHECK_THAT(refused([&] {
                   norm.backward(Tensor::zeros({3, 4}), cache);
               }),
               Contains("dy has shape [3, 4], expected [2, 4]"));
}

TEST_CASE("rotary positions refuse what does not fit") {
    const auto turned = [](const Shape& shape, Index heads, Real base) {
        const std::string message =
            refused([&] { rotate(Tensor::zeros(shape), heads, {.base = base}); });
        CHECK(refused([&] { rotate_backward(Tensor::zeros(shape), heads, {.base = base}); }) ==
              message);
        return message;
    };
    CHECK(turned({2, 3, 6}, 2, 100) ==
          "rotary: shape [2, 3, 6] for 2 heads, expected [B, L, heads * an even number]");
    CHECK_THAT(turned({3, 8}, 2, 100), Contains("shape [3, 8]"));
    CHECK_THAT(turned({2, 3, 6}, 0, 100), Contains("for 0 heads"));
    CHECK(turned({2, 3, 8}, 2, 0) == "rotary: base 0, expected > 0");
    CHECK_THAT(turned({2, 3, 8}, 2, INFINITY), Contains("base inf"));
    const Packing five{Ids({3}, {0, 2, 5}), 3};
    CHECK(refused([&] {
              rotate(Tensor::zeros({1, 4, 8}), 2, {}, 0, five);
          }) == "rotary: shape [1, 4, 8] for 5 rows of packed sentences");
    CHECK_THAT(refused([&] {
                   rotate_backward(Tensor::zeros({1, 6, 8}), 2, {}, 0, five);
               }),
               Contains("for 5 rows of packed sentences"));
}

TEST_CASE("grouped attention refuses heads that do not divide") {
    const auto made = [](const GroupedAttentionOptions& o) {
        return refused([&] { GroupedAttention(o, draws); });
    };
    CHECK(made({.d_model = 24, .n_heads = 6, .n_kv_heads = 4}) ==
          "grouped attention: width 24 with 6 query heads in 4 groups, expected that the groups "
          "divide the heads and these the width");
    CHECK_THAT(made({.d_model = 24, .n_heads = 6, .n_kv_heads = 0}), Contains("in 0 groups"));
    CHECK_THAT(made({.d_model = 24, .n_heads = 0, .n_kv_heads = 1}), Contains("0 query heads"));
    CHECK_THAT(made({.d_model = 25, .n_heads = 6, .n_kv_heads = 3}), Contains("width 25"));
    CHECK_THAT(made({.d_model = 0, .n_heads = 1, .n_kv_heads = 1}), Contains("d_in 0"));
    CHECK_THAT(made({.d_model = 6, .n_heads = 2, .n_kv_heads = 1}), Contains("heads of width 3"));
    GroupedAttention layer({.d_model = 8, .n_heads = 2, .n_kv_heads = 1}, draws);
    CHECK_THAT(refused([&] {
                   layer.forward(Tensor::zeros({1, 2, 9}));
               }),
               Contains("x has shape [1, 2, 9], expected [..., 8]"));
    KeyValues kv = layer.room(3);
    CHECK(refused([&] {
              layer.next(Tensor::zeros({1, 1, 8}), kv, 3);
          }) == "grouped attention: no room after 3 words");
    CHECK(refused([] {
              share_heads(Tensor::zeros({1, 2, 6}), 4, 6);
          }) == "grouped attention: shape [1, 2, 6] for 6 heads in 4 groups");
    CHECK_THAT(refused([] { share_heads(Tensor::zeros({1, 2, 7}), 2, 4); }), Contains("[1, 2, 7]"));
    CHECK_THAT(refused([] {
                   share_heads_backward(Tensor::zeros({1, 2, 6}), 2, 4);
               }),
               Contains("[1, 2, 6] for 4 heads"));
}

TEST_CASE("a gated network and a block refuse what does not fit") {
    CHECK_THAT(refused([] { GatedFeedForward(4, 0, draws); }), Contains("d_out 0"));
    BlockOptions o = small().block;
    o.dropout = 1;
    CHECK_THAT(refused([&] { Block(o, draws); }), Contains("p is 1, expected 0 <= p < 1"));
}

TEST_CASE("a model refuses a text that is empty, too long or of other words") {
    LlamaOptions none = small();
    none.words = 0;
    CHECK_THAT(refused([&] { Llama(none, Random(1)); }), Contains("0 words of width 8"));
    const Llama model(small(), Random(1));
    const auto read = [&](const Ids& ids) { return refused([&] { model.forward(ids); }); };
    CHECK(read(Ids::zeros({1, 5})) == "language model: a text of 5 words, but its context is 4");
    CHECK_THAT(read(Ids({1, 2}, {3, 9})), Contains("id 9 is not in the table of 9 words"));
    CHECK(read(Ids::zeros({1, 0})) == "language model: a text without words");
    Continuation continuation(model);
    CHECK_THAT(refused([&] { continuation.next(-1); }), Contains("id -1 is not in the table"));
    for (int i = 0; i < 4; ++i) continuation.next(1);
    CHECK(refused([&] { continuation.next(1); }) ==
          "the text has 4 words, and the model's context is full");
}

TEST_CASE("lines are made of known words") {
    const Vocabulary words({pad_word, arrow_word, end_word, "a", "b"});
    const std::vector<SentencePair> pairs{{{"a"}, {"b"}}, {{"a"}, {"c"}}};
    const auto made = [&](std::vector<Index> numbers) {
        return refused([&] { make_line_batch(words, pairs, numbers, Counted::all); });
    };
    CHECK(made({0}) == "accepted");
    CHECK_THAT(made({1}), Contains("unknown word c"));
}

TEST_CASE("a prompt is refused before a model is trained for it") {
    Results results;
    const auto sampled = [&](const std::string& prompt) {
        return refused([&] { show_samples({.prompt = prompt}, 1, results); });
    };
    std::string long_prompt;
    for (int i = 0; i < 600; ++i) long_prompt += "我 ";
    CHECK_THAT(sampled(" "), Contains("the prompt is empty"));
    CHECK_THAT(sampled("我 xyzzy"), Contains("the model does not know xyzzy; it knows"));
    CHECK_THAT(sampled(long_prompt), Contains("has 600 words, but the model's context has 512"));
    CHECK_THROWS_WITH(show_samples({.choice = {.top_p = 0}}, 1, results),
                      Contains("top-p 0, expected more than 0"));
    CHECK_THROWS_WITH(show_samples({.attention = "/dev/null/map.svg"}, 1, results),
                      Contains("/dev/null"));
}

TEST_CASE("options that make no sense are refused") {
    const auto sampled = [](const SamplingOptions& o, const Tensor& logits = Tensor({2}, {1, 2})) {
        return refused([&] { sampling_probabilities(logits, o); });
    };
    CHECK(sampled({.temperature = -1}) == "sampling: temperature -1, expected 0 or more");
    CHECK_THAT(sampled({.temperature = NAN}), Contains("temperature nan"));
    CHECK(sampled({.top_k = -1}) == "sampling: top-k -1, expected 0 (all) or more");
    for (const Real p : {Real(0), Real(-1), Real(1.5), Real(NAN)})
        CHECK_THAT(sampled({.top_p = p}), Contains("expected more than 0, at most 1"));
    CHECK_THAT(sampled({}, Tensor({1, 2}, {1, 2})), Contains("shape [1, 2], expected [n]"));
    CHECK_THAT(sampled({}, Tensor::zeros({0})), Contains("shape [0]"));
    CHECK(sampled({}, Tensor({2}, {1, NAN})) == "sampling: a logit is NaN");
    CHECK_THAT(sampled({}, Tensor({2}, {1, INFINITY})), Contains("the largest logit is inf"));
    CHECK_THAT(sampled({}, Tensor({1}, {-INFINITY})), Contains("the largest logit is -inf"));
}
