// Per way: masks of padding and of what comes later, and packing.
#include "chapters/03_masks/masks.hpp"

#include <algorithm>

#include "chapters/03_masks/packing.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

Index count(const Mask& mask) {
    return std::count(mask.values().begin(), mask.values().end(), 1);
}

}  // namespace

TEST_CASE("the five ids 1 2 3 4 0 compared with 0 give F F F F T") {
    const Mask mask = padding_mask(Ids({1, 1}, {7}), Ids({1, 5}, {1, 2, 3, 4, 0}));
    REQUIRE(same_bits(mask, Mask({1, 1, 5}, {0, 0, 0, 0, 1})));
}

TEST_CASE("the padding mask of the German-English notebook prints as it does there") {
    const Ids queries({2, 5}, {3, 4, 5, 6, 0, 2, 3, 0, 0, 0});
    const Ids keys({2, 5}, {1, 2, 0, 0, 0, 1, 2, 3, 0, 0});
    REQUIRE(to_string(padding_mask(queries, keys), MaskStyle::booleans) ==
            R"(tensor([[[False, False,  True,  True,  True],
         [False, False,  True,  True,  True],
         [False, False,  True,  True,  True],
         [False, False,  True,  True,  True],
         [False, False,  True,  True,  True]],

        [[False, False, False,  True,  True],
         [False, False, False,  True,  True],
         [False, False, False,  True,  True],
         [False, False, False,  True,  True],
         [False, False, False,  True,  True]]])
)");
}

TEST_CASE("the look-ahead mask of the German-English notebook prints as it does there") {
    const Mask mask = look_ahead_mask(Ids({2, 3}, {1, 2, 0, 1, 2, 3}));
    REQUIRE(to_string(mask, MaskStyle::digits) == R"(0 1 1
0 0 1
0 0 0

0 1 1
0 0 1
0 0 0
)");
    REQUIRE(to_string(mask, MaskStyle::bytes) == R"(tensor([[[0, 1, 1],
         [0, 0, 1],
         [0, 0, 0]],

        [[0, 1, 1],
         [0, 0, 1],
         [0, 0, 0]]], dtype=torch.uint8)
)");
}

TEST_CASE("the three triangles of the Chinese-English toy print as they do there") {
    const Ids list({4}, {1, 2, 3, 4});
    REQUIRE(to_string(upper_triangle(list, 0)) ==
            "[[1 2 3 4]\n [0 2 3 4]\n [0 0 3 4]\n [0 0 0 4]]\n");
    REQUIRE(to_string(upper_triangle(list, -1)) ==
            "[[1 2 3 4]\n [1 2 3 4]\n [0 2 3 4]\n [0 0 3 4]]\n");
    REQUIRE(to_string(upper_triangle(list, 1)) ==
            "[[0 2 3 4]\n [0 0 3 4]\n [0 0 0 4]\n [0 0 0 0]]\n");
}

TEST_CASE("a pad query keeps the row that every other query has") {
    const Ids ids({1, 4}, {1, 2, 3, 0});
    const Mask mask = padding_mask(ids, ids);
    for (Index i = 0; i < 4; ++i)
        for (Index j = 0; j < 4; ++j) REQUIRE(mask(0, i, j) == mask(0, 0, j));
    for (Index i = 0; i < 4; ++i) REQUIRE(mask(0, i, 0) == 0);  // no row is hidden as a whole
}

TEST_CASE("the padding id can be another than 0") {
    const Ids keys({1, 3}, {0, 7, 2});
    REQUIRE(same_bits(padding_mask(keys, keys, 7), Mask({1, 3, 3}, {0, 1, 0, 0, 1, 0, 0, 1, 0})));
}

TEST_CASE("a cross mask has a row for each target word and a column for each source word") {
    const Ids src({2, 8}, {1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 6, 7, 0, 0});
    const Ids tgt({2, 7}, {9, 1, 2, 3, 4, 5, 11, 9, 1, 2, 3, 5, 11, 0});
    const Mask mask = padding_mask(tgt, src);
    REQUIRE(mask.shape() == Shape{2, 7, 8});
    REQUIRE(count(mask) == 7 * (1 + 2));
}

TEST_CASE("no row of the look-ahead mask sees its own answer, and each sees at least itself") {
    for (Index length : {1, 2, 7, 50}) {
        const Mask mask = look_ahead_mask(Ids::zeros({1, length}));
        REQUIRE(count(mask) == length * (length - 1) / 2);
        for (Index i = 0; i < length; ++i) {
            REQUIRE(mask(0, i, i) == 0);
            REQUIRE(mask(0, i, 0) == 0);
            if (i + 1 < length) REQUIRE(mask(0, i, i + 1) == 1);  // the word that row i must find
        }
    }
}

TEST_CASE("the decoder's mask hides the future and the padding") {
    const Ids tgt({1, 4}, {9, 1, 0, 0});
    const Mask mask = mask_or(padding_mask(tgt, tgt), look_ahead_mask(tgt));
    REQUIRE(same_bits(mask, Mask({1, 4, 4}, {0, 1, 1, 1,  //
                                             0, 0, 1, 1,  //
                                             0, 0, 1, 1,  //
                                             0, 0, 1, 1})));
}

TEST_CASE("inverting swaps what is hidden and what is seen") {
    const Mask mask = look_ahead_mask(Ids::zeros({1, 3}));
    REQUIRE(
        same_bits(invert(mask), Mask({1, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1})));  // lower triangle
    REQUIRE(same_bits(invert(invert(mask)), mask));
    REQUIRE(same_bits(invert(Mask({1, 1, 2}, {0, 7})), Mask({1, 1, 2}, {1, 0})));  // 7 is true, too
}

TEST_CASE("whatever is not 0 hides, and becomes 1") {
    const Mask a({1, 1, 4}, {0, 7, 0, 255}), b({1, 1, 4}, {0, 0, 9, 1});
    REQUIRE(same_bits(mask_or(a, b), Mask({1, 1, 4}, {0, 1, 1, 1})));
    REQUIRE(same_bits(invert(a), Mask({1, 1, 4}, {1, 0, 1, 0})));
}

TEST_CASE("a mask whose missing axis is added at the front hides words of another sentence") {
    const Ids src({2, 3}, {1, 2, 3, 4, 0, 0});
    const Mask mask = padding_mask(src, src);
    const Mask right = over_heads(mask), wrong = mask.reshape({1, 2, 3, 3});
    // sentence 0, head 1: nothing is to be hidden there, but sentence 1's padding is
    REQUIRE(right(0, 0, 0, 1) == 0);
    REQUIRE(wrong(0, 1, 0, 1) == 1);
    // sentence 1, head 0: its padding is to be hidden, but is not
    REQUIRE(right(1, 0, 0, 1) == 1);
    REQUIRE(wrong(0, 0, 0, 1) == 0);
}

TEST_CASE("wrong shapes are refused, with the shapes in the message") {
    REQUIRE_THROWS_WITH(padding_mask(Ids::zeros({2, 3}), Ids::zeros({3, 3})),
                        Contains("padding mask") && Contains("[2, 3]") && Contains("[3, 3]"));
    REQUIRE_THROWS_WITH(padding_mask(Ids::zeros({3}), Ids::zeros({3})), Contains("[3]"));
    REQUIRE_THROWS_WITH(look_ahead_mask(Ids::zeros({1, 2, 3})),
                        Contains("look-ahead mask") && Contains("[1, 2, 3]"));
    REQUIRE_THROWS_WITH(mask_or(Mask({1, 2, 2}), Mask({1, 2, 3})),
                        Contains("[1, 2, 2]") && Contains("[1, 2, 3]"));
    REQUIRE_THROWS_WITH(over_heads(Mask({2, 2})), Contains("over_heads") && Contains("[2, 2]"));
}

TEST_CASE("packing leaves out the pads behind sentences, and no others") {
    const Ids ids({4, 4}, {5, 6, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 1, 2, 3, 4});
    const Packing p = leave_out_pads(ids);
    REQUIRE(same_bits(p.offsets, Ids({5}, {0, 2, 5, 6, 10})));  // a first place stays
    REQUIRE(p.length == 4);
    REQUIRE(p.begins_with_pad == 2);
    REQUIRE(leave_out_pads(ids.rows(0, 2)).begins_with_pad < 0);
    REQUIRE(p.sentences() == 4);
    REQUIRE(p.rows() == 10);
    REQUIRE(p.begin(1) == 2);
    REQUIRE(p.count(1) == 3);
    REQUIRE(same_bits(pack(ids, p), Ids({1, 10}, {5, 6, 7, 0, 8, 0, 1, 2, 3, 4})));
    REQUIRE(same_bits(leave_out_pads(Ids({1, 3}, {9, 4, 9}), 9).offsets, Ids({2}, {0, 2})));
    REQUIRE(same_bits(leave_out_pads(Ids({1, 3}, {4, 9, 9}), 9).offsets, Ids({2}, {0, 1})));
    REQUIRE(Packing().empty());
    REQUIRE_FALSE(p.empty());
    REQUIRE(pack(ids, {}).is(ids));  // nothing is left out
}

TEST_CASE("packed rows are those of the sentences, and come back to their places") {
    const Packing p = leave_out_pads(Ids({3, 3}, {1, 0, 0, 1, 2, 3, 1, 2, 0}));
    const Tensor x = random_tensor({3, 3, 5});
    const Tensor packed = pack(x, p);
    REQUIRE(packed.shape() == Shape{1, 6, 5});
    const Tensor back = unpack(packed, p);
    REQUIRE(back.shape() == x.shape());
    Index row = 0;
    for (Index b = 0; b < 3; ++b)
        for (Index t = 0; t < 3; ++t) {
            const bool kept = t < p.count(b);
            for (Index j = 0; j < 5; ++j) {
                REQUIRE(back(b, t, j) == (kept ? x(b, t, j) : 0));
                if (kept) REQUIRE(packed(0, row, j) == x(b, t, j));
            }
            row += kept;
        }
    REQUIRE_THROWS_WITH(pack(random_tensor({3, 4, 5}), p),
                        "pack: the packing has 3 sentences of length 3, but x has shape [3, 4, 5]");
    REQUIRE_THROWS_WITH(pack(Ids({2, 3}), p),
                        "pack: the packing has 3 sentences of length 3, but x has shape [2, 3]");
    REQUIRE_THROWS_WITH(pack(random_tensor({3, 3}), p),
                        "pack: x has shape [3, 3], expected [B, L, n]");
    REQUIRE_THROWS_WITH(pack(Ids({3, 3, 1}), p), "pack: ids have shape [3, 3, 1], expected [B, L]");
    REQUIRE(pack(x, {}).is(x));
    REQUIRE(unpack(x, {}).is(x));
    REQUIRE(leave_out_pads(Ids::zeros({2, 0})).rows() == 0);
    REQUIRE_THROWS_WITH(unpack(random_tensor({1, 5, 2}), p),
                        "unpack: x has shape [1, 5, 2], expected [1, 6, n]");
    REQUIRE_THROWS_WITH(leave_out_pads(Ids({2})), "packing: ids have shape [2], expected [B, L]");
}

TEST_CASE("every way packs and unpacks the same rows") {
    Random random(1);
    for (Index batch : {1, 3})
        for (Index length : {1, 2, 40})
            for (Index n : {0, 1, 33, 300}) {
                CAPTURE(batch, length, n);
                const Packing p =
                    leave_out_pads(random_ids({batch, length}, 0, 4, random.stream()));
                const Tensor x = random_tensor({batch, length, n});
                same_in_every_way(
                    [&] {
                        const Tensor packed = pack(x, p);
                        return std::vector{packed, unpack(packed, p)};
                    },
                    0);
            }
}
