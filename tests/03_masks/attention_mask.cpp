// Once: the attention mask, as one value.
#include "chapters/03_masks/attention_mask.hpp"

#include <vector>

#include "chapters/03_masks/masks.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// Zeros and ones at random.
Mask random_mask(const Shape& shape, std::uint64_t seed = 4) {
    Random random(seed);
    const Ids bits = random_ids(shape, 0, 2, random.stream());
    Mask mask(shape);
    std::copy(bits.values().begin(), bits.values().end(), mask.values().begin());
    return mask;
}

/// Element of a mask of which some axes have size 1.
std::uint8_t broadcast(const Mask& mask, Index b, Index h, Index i, Index j) {
    return mask(mask.dim(0) == 1 ? 0 : b, mask.dim(1) == 1 ? 0 : h, mask.dim(2) == 1 ? 0 : i,
                mask.dim(3) == 1 ? 0 : j);
}

/// Two sentences, the second with a pad between its words, `[2, 4]`.
Ids two_sentences() {
    return {{2, 4}, {5, 6, 0, 0, 7, 0, 8, 0}};
}

const Shape scores{2, 3, 4, 4};

}  // namespace

TEST_CASE("pads among the keys are hidden from every query, whatever the id of padding is") {
    const Ids keys = two_sentences();
    const AttentionMask mask = hide_pads(keys);
    CHECK(same_bits(mask.pads, Mask({2, 4}, {0, 0, 1, 1, 0, 1, 0, 1})));
    for (Index b = 0; b < 2; ++b)
        for (Index i = 0; i < 4; ++i)
            for (Index j = 0; j < 4; ++j) CHECK(mask.hides(b, 1, i, j) == (keys(b, j) == 0));
    CHECK(same_bits(hide_pads(keys, 7).pads, Mask({2, 4}, {0, 0, 0, 0, 1, 0, 0, 0})));
    // one row for all heads and queries: [B, 1, 1, Lk]
    CHECK(same_bits(mask.dense(scores), Mask({2, 1, 1, 4}, {0, 0, 1, 1, 0, 1, 0, 1})));
}

TEST_CASE("the future is hidden from every query of every sentence by one triangle") {
    CHECK(same_bits(hide_future().dense({2, 3, 3, 3}),
                    Mask({1, 1, 3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0})));
    // more keys than queries, and fewer: query i sees keys 0 to i
    CHECK(same_bits(hide_future().dense({1, 1, 1, 3}), Mask({1, 1, 1, 3}, {0, 1, 1})));
    CHECK(same_bits(hide_future().dense({1, 1, 3, 1}), Mask({1, 1, 3, 1}, {0, 0, 0})));
}

TEST_CASE("pads and future together are the matrices of the decoder") {
    const Ids keys = two_sentences();
    const AttentionMask mask = hide_pads(keys) | hide_future();
    const Mask expected = over_heads(mask_or(padding_mask(keys, keys), look_ahead_mask(keys)));
    CHECK(same_bits(mask.dense(scores), expected));
    CHECK(same_bits((hide_future() | hide_pads(keys)).dense(scores), expected));
}

TEST_CASE("a key is hidden where any part hides it, for every combination of parts") {
    const Ids keys = two_sentences();
    std::vector<Mask> others{Mask()};
    for (Index b : {1, 2})
        for (Index h : {1, 3})
            for (Index i : {1, 4})
                for (Index j : {1, 4}) others.push_back(random_mask({b, h, i, j}));
    for (const Mask& other : others)
        for (bool with_pads : {false, true})
            for (bool causal : {false, true}) {
                CAPTURE(to_string(other.shape()), with_pads, causal);
                AttentionMask mask = other;
                if (with_pads) mask = mask | hide_pads(keys);
                if (causal) mask = mask | hide_future();
                const Mask dense = mask.dense(scores);
                Index wrong = 0;
                for (Index b = 0; b < 2; ++b)
                    for (Index h = 0; h < 3; ++h)
                        for (Index i = 0; i < 4; ++i)
                            for (Index j = 0; j < 4; ++j) {
                                const bool hidden =
                                    (with_pads && keys(b, j) == 0) || (causal && j > i) ||
                                    (!other.empty() && broadcast(other, b, h, i, j) != 0);
                                wrong += mask.hides(b, h, i, j) != hidden;
                                wrong += !dense.empty() && broadcast(dense, b, h, i, j) != hidden;
                                wrong += dense.empty() && hidden;
                            }
                CHECK(wrong == 0);
            }
}

TEST_CASE("a mask of three axes becomes an attention mask that all heads share") {
    const Mask any = random_mask({2, 4, 4});
    const auto as_argument = [](const AttentionMask& mask) { return mask.dense(scores); };
    const Mask dense = as_argument(any);
    CHECK(dense.shape() == Shape{2, 1, 4, 4});
    CHECK(dense.data() == any.data());  // a view, not a copy
    CHECK(same_bits(as_argument(over_heads(any)), dense));
}

TEST_CASE("of packed sentences each sees its own keys alone, as with pads behind them") {
    const Ids keys = two_sentences();
    const Packing packing = leave_out_pads(keys);  // 2 words and 3 places
    for (bool with_pads : {false, true})
        for (bool causal : {false, true}) {
            AttentionMask mask = with_pads ? hide_pads(keys) : AttentionMask();
            mask.causal = causal;
            mask.queries = mask.keys = packing;
            const Mask dense = mask.dense(scores);
            REQUIRE(dense.shape() == Shape{1, 1, 5, 5});
            const auto sentence = [](Index row) -> Index { return row < 2 ? 0 : 1; };
            const auto place = [](Index row) { return row < 2 ? row : row - 2; };
            for (Index i = 0; i < 5; ++i)
                for (Index j = 0; j < 5; ++j) {
                    const Index b = sentence(i);
                    const bool hidden = b != sentence(j) || (causal && place(j) > place(i)) ||
                                        (with_pads && keys(b, place(j)) == 0);
                    CHECK(dense(0, 0, i, j) == hidden);
                }
        }
}

TEST_CASE("two attention masks are joined unless both have the same part") {
    const Ids keys = two_sentences();
    const AttentionMask pads = hide_pads(keys), other = random_mask({2, 4, 4});
    AttentionMask packed;
    packed.queries = packed.keys = leave_out_pads(keys);
    CHECK((pads | packed).queries.rows() == 5);
    CHECK((packed | pads).keys.rows() == 5);
    CHECK((hide_future() | hide_future()).causal);
    CHECK(same_bits((AttentionMask() | pads).pads, pads.pads));
    CHECK_THROWS_WITH(pads | pads, "attention mask: both masks have pads");
    CHECK_THROWS_WITH(other | other, "attention mask: both masks have an extra mask");
    CHECK_THROWS_WITH(packed | packed, "attention mask: both masks have packed sentences");
}

TEST_CASE("an attention mask that does not fit the scores is refused, with both shapes") {
    const Ids keys = two_sentences();
    CHECK_THROWS_WITH(hide_pads(Ids({4})), "attention mask: keys have shape [4], expected [B, Lk]");
    CHECK_THROWS_WITH(hide_pads(keys).check({2, 3, 4, 5}),
                      "attention: pads of shape [2, 4] do not fit scores of shape [2, 3, 4, 5]");
    CHECK_THROWS_WITH(hide_pads(keys).dense({3, 3, 4, 4}),
                      "attention: pads of shape [2, 4] do not fit scores of shape [3, 3, 4, 4]");
    CHECK_THROWS_WITH(
        AttentionMask(random_mask({4, 4})).check(scores),
        "attention: mask has shape [4, 4], scores [2, 3, 4, 4]: insert an axis for the heads");
    for (const Shape& shape :
         {Shape{3, 1, 4, 4}, Shape{2, 2, 4, 4}, Shape{2, 1, 2, 4}, Shape{2, 1, 4, 2}})
        CHECK_THROWS_WITH(AttentionMask(random_mask(shape)).check(scores),
                          "attention: mask of shape " + to_string(shape) +
                              " does not fit scores of shape [2, 3, 4, 4]");
    AttentionMask half;
    half.queries = leave_out_pads(keys);
    CHECK_THROWS_WITH(
        half.check(scores),
        "attention: only the queries or only the keys are packed, expected both or neither");
    AttentionMask packed = random_mask({1, 3, 1, 1});
    packed.queries = packed.keys = leave_out_pads(keys);
    CHECK_THROWS_WITH(packed.check(scores),
                      "attention: packed sentences take no mask of shape [1, 3, 1, 1]");
    const Ids begins_with_pad({2, 4}, {5, 6, 0, 0, 0, 7, 8, 0});
    packed.extra = {};
    packed.queries = packed.keys = leave_out_pads(begins_with_pad);
    packed.check(scores);  // nothing is hidden
    packed.pads = hide_pads(begins_with_pad).pads;
    CHECK_THROWS_WITH(packed.check(scores), "attention: packed sentence 1 begins with a pad");
}
