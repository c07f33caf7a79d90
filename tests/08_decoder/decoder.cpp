// Per real and way: a decoder's layer and the stack.
#include "chapters/08_decoder/decoder.hpp"

#include <algorithm>

#include "chapters/03_masks/masks.hpp"
#include "lib/eigen.hpp"
#include "tests/layers.hpp"
#include "tests/proof/layers.hpp"

using namespace abh;

namespace {

// Two orders of summation of numbers of order one: some tens of roundings of the type's epsilon.
constexpr double round_off = in_double ? 1e-13 : 2e-5;

bool same_row(const Tensor& a, const Tensor& b, Index sentence, Index row) {
    const Index d = a.dim(2), first = (sentence * a.dim(1) + row) * d;
    return std::equal(a.data() + first, a.data() + first + d, b.data() + first);
}

/// Puts another vector into one row.
Tensor with_row(const Tensor& x, Index sentence, Index row, Real value) {
    Tensor changed = x.clone();
    for (Index i = 0; i < x.dim(2); ++i)
        changed(sentence, row, i) = value * static_cast<Real>(i % 3 - 1);
    return changed;
}

/// A batch of two: sources of four and two words in four columns, targets of five and four in five.
struct Batch {
    Ids src{{2, 4}, {1, 2, 3, 4, 5, 6, 0, 0}};
    Ids tgt{{2, 5}, {9, 1, 2, 3, 4, 9, 5, 6, 7, 0}};
    Mask self_mask = mask_or(padding_mask(tgt, tgt), look_ahead_mask(tgt));
    Mask cross_mask = padding_mask(tgt, src);
    Tensor x, memory, dy;

    Batch(Index d_model, Random& random)
        : x(normal({2, 5, d_model}, random.stream())),
          memory(normal({2, 4, d_model}, random.stream())),
          dy(normal({2, 5, d_model}, random.stream())) {}
};

}  // namespace

TEST_CASE("a decoder layer of the toy has 4,194,304 parameters, of the shared-head block 664,832") {
    Random random(1);
    DecoderLayer toy(toy_layer(), random), shared(shared_head_layer(), random);
    CHECK(count_elements(parameters_of(toy)) == 4'194'304);
    CHECK(count_elements(parameters_of(shared)) == 664'832);
}

TEST_CASE("a decoder keeps the shape and gives both weights of every layer") {
    Random random(1);
    const Decoder decoder(small_layer(), 2, random);
    const Batch b(6, random);
    std::vector<DecoderLayer::AttentionWeights> weights;
    const Tensor y = decoder.forward(b.x, b.memory, b.self_mask, b.cross_mask, nullptr, &weights);
    CHECK(y.shape() == Shape{2, 5, 6});
    REQUIRE(weights.size() == 2);
    for (const DecoderLayer::AttentionWeights& of_layer : weights) {
        CHECK(of_layer.self.shape() == Shape{2, 3, 5, 5});
        CHECK(of_layer.cross.shape() == Shape{2, 3, 5, 4});
        for (const Tensor& w : {of_layer.self, of_layer.cross})
            CHECK((matrix(w).rowwise().sum().array() - 1).abs().maxCoeff() < Real(1e-5));
        for (Index h = 0; h < 3; ++h)
            for (Index i = 0; i < 5; ++i) {
                for (Index j = i + 1; j < 5; ++j) CHECK(of_layer.self(0, h, i, j) == 0);
                CHECK(of_layer.self(1, h, i, 4) == 0);  // the pad of the second target
                for (Index j : {2, 3}) CHECK(of_layer.cross(1, h, i, j) == 0);  // of its source
            }
    }
}

TEST_CASE("a decoder layer is its equation") {
    Random random(1);
    const Batch b(6, random);
    DecoderLayer post(small_layer(true, true), random);
    shake(post, random);
    const Tensor a =
        post.norm1.norm.forward(b.x + post.self_attn.forward(b.x, b.x, b.x, b.self_mask));
    const Tensor c =
        post.norm2.norm.forward(a + post.cross_attn.forward(a, b.memory, b.memory, b.cross_mask));
    CHECK(max_difference(post.forward(b.x, b.memory, b.self_mask, b.cross_mask),
                         post.norm3.norm.forward(c + post.ff.forward(c))) < round_off);

    DecoderLayer pre(small_layer(true, true, NormPlacement::pre), random);
    shake(pre, random);
    const Tensor h1 = pre.norm1.norm.forward(b.x);
    const Tensor p = b.x + pre.self_attn.forward(h1, h1, h1, b.self_mask);
    const Tensor h2 = pre.norm2.norm.forward(p);
    const Tensor q = p + pre.cross_attn.forward(h2, b.memory, b.memory, b.cross_mask);
    CHECK(max_difference(pre.forward(b.x, b.memory, b.self_mask, b.cross_mask),
                         q + pre.ff.forward(pre.norm3.norm.forward(q))) < round_off);
}

TEST_CASE("a later word leaves the earlier rows bit-equal") {
    Random random(1);
    const Ids tgt({1, 7}, {9, 1, 2, 3, 4, 5, 11});
    const Ids src({1, 8}, {1, 2, 3, 4, 5, 6, 7, 0});
    const Mask mask = mask_or(padding_mask(tgt, tgt), look_ahead_mask(tgt));
    for (const auto placement : {NormPlacement::post, NormPlacement::pre}) {
        LayerOptions o = medium_layer();
        o.add_norm.placement = placement;
        const Decoder decoder(o, 3, random);
        const Tensor x = normal({1, 7, 64}, random.stream());
        const Tensor memory = normal({1, 8, 64}, random.stream());
        const Tensor y = decoder.forward(x, memory, mask, padding_mask(tgt, src));
        for (Index j = 0; j < 7; ++j) {
            const Tensor z =
                decoder.forward(with_row(x, 0, j, 3), memory, mask, padding_mask(tgt, src));
            for (Index t = 0; t < 7; ++t) CHECK(same_row(y, z, 0, t) == (t < j));
        }
        // Without the look-ahead mask the last word reaches the first row.
        const Mask open = padding_mask(tgt, tgt);
        CHECK_FALSE(same_row(
            decoder.forward(x, memory, open, padding_mask(tgt, src)),
            decoder.forward(with_row(x, 0, 6, 3), memory, open, padding_mask(tgt, src)), 0, 0));
    }
}

TEST_CASE("the look-ahead mask alone hides pads at the end of the target from its words") {
    Random random(1);
    const Decoder decoder(small_layer(true, true), 2, random);
    const Batch b(6, random);
    const Tensor y = decoder.forward(b.x, b.memory, b.self_mask, b.cross_mask);
    const Tensor z = decoder.forward(b.x, b.memory, look_ahead_mask(b.tgt), b.cross_mask);
    for (Index t = 0; t < 4; ++t) CHECK(same_row(y, z, 1, t));
    CHECK_FALSE(same_row(y, z, 1, 4));  // the pad's own row, which nobody reads
}

TEST_CASE("no row depends on the word that it must say, if the input is shifted") {
    Random random(1);
    const Decoder decoder(small_layer(), 2, random);
    const Tensor table = normal({12, 6}, random.stream());  // one vector a word
    const Tensor memory = normal({1, 8, 6}, random.stream());
    const auto rows_that_see_their_answer = [&](const Ids& input, Index ahead) {
        const auto decode = [&](const Ids& ids) {
            Tensor x({1, 7, 6});
            for (Index t = 0; t < 7; ++t) matrix(x).row(t) = matrix(table).row(ids(0, t));
            return decoder.forward(x, memory, look_ahead_mask(ids), Mask());
        };
        const Tensor y = decode(input);
        int seen = 0;
        for (Index t = 0; t + ahead < 7; ++t) {
            Ids other = input.clone();
            other(0, t + ahead) = 7;
            seen += !same_row(y, decode(other), 0, t);
        }
        return seen;
    };
    const Ids shifted({1, 7}, {9, 1, 2, 3, 4, 5, 11});
    const Ids target({1, 7}, {1, 2, 3, 4, 5, 11, 10});
    for (Index t = 0; t + 1 < 7; ++t) REQUIRE(shifted(0, t + 1) == target(0, t));
    CHECK(rows_that_see_their_answer(shifted, 1) == 0);
    CHECK(rows_that_see_their_answer(target, 0) == 7);  // the mistake: every row reads its answer
}

TEST_CASE("every word of the source reaches every row of the decoder") {
    Random random(1);
    for (const auto placement : {NormPlacement::post, NormPlacement::pre}) {
        const Decoder decoder(small_layer(true, true, placement), 2, random);
        const Batch b(6, random);
        const Tensor y = decoder.forward(b.x, b.memory, b.self_mask, b.cross_mask);
        for (Index s = 0; s < 4; ++s) {
            const Tensor z =
                decoder.forward(b.x, with_row(b.memory, 0, s, 3), b.self_mask, b.cross_mask);
            for (Index t = 0; t < 5; ++t) {
                CHECK_FALSE(same_row(y, z, 0, t));
                CHECK(same_row(y, z, 1, t));  // the other sentence of the batch
            }
        }
    }
}

TEST_CASE("every gradient of a decoder layer is that of central differences, and adds up") {
    for_small_layers([](const LayerOptions& o, bool stack) {
        check_trial(proof::decoder<DecoderLayer>(o));
        if (stack) check_trial(proof::decoder<Decoder>(o));
    });
}

TEST_CASE("a decoder gives the same bits with any number of threads", "[fast]") {
    same_for_threads([] {
        Random random(5);
        Decoder decoder(medium_layer(), 2, random);
        const Batch b(64, random);
        Decoder::Cache cache;
        const Tensor y = decoder.forward(b.x, b.memory, b.self_mask, b.cross_mask, &cache);
        const Decoder::Gradients d = decoder.backward(b.dy, cache);
        return std::vector{y, d.dx, d.dmemory, decoder.layers[0].cross_attn.w_k.weight.grad()};
    });
}

TEST_CASE("memory of another batch or width, or a mask of the wrong side, is named") {
    Random random(1);
    CHECK_THROWS_WITH(Decoder(small_layer(), 0, random), "decoder: 0 layers, expected at least 1");
    const Decoder decoder(small_layer(), 1, random);
    const Batch b(6, random);
    CHECK_THROWS_WITH(decoder.forward(b.x, Tensor::zeros({1, 4, 6}), b.self_mask, b.cross_mask),
                      Contains("decoder layer: memory has shape [1, 4, 6], expected [2, Ls, 6]"));
    CHECK_THROWS_WITH(decoder.forward(b.x, Tensor::zeros({2, 4, 8}), b.self_mask, b.cross_mask),
                      Contains("[2, 4, 8]") && Contains("[2, Ls, 6]"));
    CHECK_THROWS_WITH(decoder.forward(Tensor::zeros({5, 6}), b.memory, b.self_mask, b.cross_mask),
                      Contains("x has shape [5, 6], expected [B, Lt, d_model]"));
    const Mask wrong_side = padding_mask(b.tgt, b.tgt);  // keys of the target, not of the source
    CHECK_THROWS_WITH(decoder.forward(b.x, b.memory, b.self_mask, wrong_side),
                      Contains("[2, 1, 5, 5]") && Contains("[2, 3, 5, 4]"));
    // Keys and values from the decoder: the source's mask does not fit them.
    CHECK_THROWS_WITH(decoder.forward(b.x, b.x, b.self_mask, b.cross_mask),
                      Contains("[2, 1, 5, 4]") && Contains("[2, 3, 5, 5]"));
    CHECK_THROWS_WITH(decoder.forward(b.x, b.x, b.self_mask, hide_pads(b.src)),
                      Contains("pads of shape [2, 4]") && Contains("[2, 3, 5, 5]"));
    // Queries from the encoder: the sum with the residual does not fit.
    const DecoderLayer& layer = decoder.layers[0];
    const Tensor turned = layer.cross_attn.forward(b.memory, b.x, b.x, Mask());
    CHECK(turned.shape() == Shape{2, 4, 6});
    CHECK_THROWS_WITH(layer.norm2.after(b.x, turned),
                      Contains("[2, 4, 6]") && Contains("[2, 5, 6]"));
}

TEST_CASE("a mask of the wrong side passes where both lengths are equal, and shows the pads") {
    Random random(1);
    const Decoder decoder(small_layer(), 1, random);
    const Ids src({1, 5}, {1, 2, 3, 0, 0}), tgt({1, 5}, {9, 1, 2, 3, 4});
    const Tensor x = normal({1, 5, 6}, random.stream()),
                 memory = normal({1, 5, 6}, random.stream());
    std::vector<DecoderLayer::AttentionWeights> right, wrong;
    decoder.forward(x, memory, look_ahead_mask(tgt), padding_mask(tgt, src), nullptr, &right);
    decoder.forward(x, memory, look_ahead_mask(tgt), padding_mask(tgt, tgt), nullptr, &wrong);
    for (Index h = 0; h < 3; ++h)
        for (Index t = 0; t < 5; ++t) {
            CHECK(right[0].cross(0, h, t, 4) == 0);
            CHECK(wrong[0].cross(0, h, t, 4) > 0);
        }
    // The target's own mask hides its future as well: row 0 sees the first word of the source.
    decoder.forward(x, memory, look_ahead_mask(tgt), look_ahead_mask(tgt), nullptr, &wrong);
    for (Index h = 0; h < 3; ++h) CHECK(wrong[0].cross(0, h, 0, 0) == 1);
}

TEST_CASE("every way of a decoder layer gives what plain gives") {
    Random for_ids(1);
    const Batch b(6, for_ids);
    const Packing src = leave_out_pads(b.src), tgt = leave_out_pads(b.tgt);
    AttentionMask packed_self = hide_future(), packed_cross = hide_pads(b.src);
    packed_self.queries = packed_self.keys = packed_cross.queries = tgt;
    packed_cross.keys = src;
    const auto run = [&](const AttentionMask& self, const AttentionMask& cross,
                         const LayerOptions& options) {
        Random random(3);
        DecoderLayer layer(options, random);
        shake(layer, random);
        Batch c(options.attention.d_model, random);
        const bool packed = self.packed();
        if (packed) c.x = pack(c.x, tgt), c.memory = pack(c.memory, src), c.dy = pack(c.dy, tgt);
        DecoderLayer::Cache cache;
        DecoderLayer::AttentionWeights weights;
        const Tensor y =
            layer.forward(c.x, c.memory, self, cross, &cache, packed ? nullptr : &weights);
        const auto [dx, dmemory] = layer.backward(c.dy, cache);
        return with_gradients({y, dx, dmemory, weights.self, weights.cross,
                               layer.forward(c.x, c.memory, self, cross)},
                              layer);
    };
    struct Case {
        const char* name;
        AttentionMask self, cross;
    };
    const Case cases[] = {{"no mask", {}, {}},
                          {"dense", b.self_mask, b.cross_mask},
                          {"causal", hide_future(), hide_pads(b.src)},
                          {"causal and pads", hide_pads(b.tgt) | hide_future(), hide_pads(b.src)},
                          {"packed", packed_self, packed_cross}};
    for (const Case& c : cases)
        for (const auto placement : {NormPlacement::post, NormPlacement::pre})
            for (const Real dropout : {Real(0), Real(0.3)}) {
                CAPTURE(c.name, placement == NormPlacement::pre, dropout);
                same_in_every_way([&] {
                    return run(c.self, c.cross, small_layer(true, true, placement, dropout));
                });
            }
    same_in_every_way([&] { return run(packed_self, packed_cross, medium_layer()); });
}
