// Per real and way: an encoder's layer and the stack.
#include "chapters/07_encoder/encoder.hpp"

#include <set>

#include "chapters/03_masks/masks.hpp"
#include "chapters/07_encoder/by_hand.hpp"
#include "lib/eigen.hpp"
#include "tests/layers.hpp"
#include "tests/proof/layers.hpp"

using namespace abh;

namespace {

// Two orders of summation of numbers of order one: some tens of roundings of the type's epsilon.
constexpr double round_off = in_double ? 1e-13 : 2e-5;

/// Two sentences of five and three words, in the columns of five.
Mask small_mask() {
    const Ids ids({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    return padding_mask(ids, ids);
}

}  // namespace

TEST_CASE(
    "an encoder layer of the toy has 3,145,728 parameters, of the shared-head block 595,456") {
    Random random(1);
    EncoderLayer toy(toy_layer(), random), shared(shared_head_layer(), random);
    CHECK(count_elements(parameters_of(toy)) == 3'145'728);
    CHECK(parameters_of(toy.norm1.norm).empty());
    CHECK(count_elements(parameters_of(shared)) == 595'456);
}

TEST_CASE("an encoder layer of the shared-head block hides the pads") {
    Random random(1);
    const EncoderLayer layer(shared_head_layer(), random);
    Tensor weights;
    layer.forward(normal({2, 5, 256}, random.stream()), small_mask(), nullptr, &weights);
    for (Index h = 0; h < 8; ++h)
        for (Index i = 0; i < 5; ++i) {
            for (Index j = 0; j < 3; ++j) CHECK(weights(1, h, i, j) > 0);
            for (Index j = 3; j < 5; ++j) CHECK(weights(1, h, i, j) == 0);
        }
}

TEST_CASE("a layer by hand, forward and backward") {
    Random random(1);
    EncoderLayer layer = example::layer_by_hand(random);
    EncoderLayer::Cache cache;
    const Tensor y = layer.forward(example::x_by_hand, {}, &cache);
    const Tensor dx = layer.backward(example::dy_by_hand, cache);
    // epsilon moves the norms by some parts in 1e5
    CHECK(max_difference(y, Tensor({1, 2, 4}, {1, 1, -1, -1, -1, 1, -1, 1})) < 1e-4);
    const Real h = Real(0.5);
    CHECK(max_difference(dx, Tensor({1, 2, 4}, {-3 * h, -3 * h, 3 * h, 3 * h, -h, -h, h, h})) <
          1e-3);
}

TEST_CASE("each layer has weights of its own") {
    Random random(1);
    Encoder encoder(medium_layer(), 6, random);
    std::set<const Real*> blocks;
    std::set<Real> first_elements;
    const Parameters parameters = parameters_of(encoder);
    for (const NamedParameter& p : parameters) {
        blocks.insert(p.parameter->value.data());
        first_elements.insert(p.parameter->value.data()[0]);
        blocks.insert(p.parameter->grad().data());
    }
    CHECK(blocks.size() == 2 * parameters.size());
    CHECK(first_elements.size() == parameters.size());  // and no two begin with the same values
}

TEST_CASE("a copied layer shares its weights and gradients with the original") {
    Random random(1);
    const EncoderLayer layer(small_layer(), random);
    std::vector<EncoderLayer> copies(3, layer);
    copies[0].ff.first.weight.value(0, 0) = 42;
    CHECK(copies[2].ff.first.weight.value(0, 0) == 42);
    copies[0].ff.first.weight.grad()(0, 0) = 1;
    CHECK(copies[2].ff.first.weight.grad()(0, 0) == 1);
    EncoderLayer late = copies[0];  // a copy of a layer that has been through a backward pass, too
    late.ff.first.weight.grad()(0, 0) = 7;
    CHECK(copies[1].ff.first.weight.grad()(0, 0) == 7);
}

TEST_CASE("an encoder keeps the shape and gives the weights of every layer") {
    Random random(1);
    Encoder encoder(small_layer(), 4, random);
    const Tensor x = normal({2, 5, 6}, random.stream());
    std::vector<Tensor> weights;
    const Tensor y = encoder.forward(x, small_mask(), nullptr, &weights);
    CHECK(y.shape() == Shape{2, 5, 6});
    REQUIRE(weights.size() == 4);
    for (const Tensor& of_layer : weights) {
        CHECK(of_layer.shape() == Shape{2, 3, 5, 5});
        const auto sums = matrix(of_layer).rowwise().sum().eval();
        CHECK((sums.array() - 1).abs().maxCoeff() < Real(1e-5));
        for (Index h = 0; h < 3; ++h)
            for (Index i = 0; i < 5; ++i) {  // a pad's own row too looks at words only
                CHECK(of_layer(1, h, i, 3) == 0);
                CHECK(of_layer(1, h, i, 4) == 0);
            }
    }
}

TEST_CASE("the order of the words does not matter to an encoder without positions") {
    Random random(1);
    Encoder encoder(small_layer(true, true), 3, random);
    const std::vector<Index> order{3, 0, 4, 1, 2};
    const Tensor x = normal({1, 5, 6}, random.stream());
    Tensor permuted(x.shape());
    for (Index i = 0; i < 5; ++i)
        matrix(permuted).row(i) = matrix(x).row(order[static_cast<std::size_t>(i)]);
    const Tensor y = encoder.forward(x, Mask()), z = encoder.forward(permuted, Mask());
    for (Index i = 0; i < 5; ++i)
        CHECK((matrix(z).row(i) - matrix(y).row(order[static_cast<std::size_t>(i)]))
                  .cwiseAbs()
                  .maxCoeff() < static_cast<Real>(round_off));
}

TEST_CASE("every gradient of an encoder layer is that of central differences, and adds up") {
    for_small_layers([](const LayerOptions& o, bool stack) {
        check_trial(proof::encoder<EncoderLayer>(o));
        if (stack) check_trial(proof::encoder<Encoder>(o));
    });
}

TEST_CASE("an encoder gives the same numbers with any number of threads", "[fast]") {
    const auto run = [] {
        Random random(5);
        Encoder encoder(medium_layer(), 2, random);
        const Tensor x = normal({3, 9, 64}, random.stream());
        Encoder::Cache cache;
        const Tensor y = encoder.forward(x, Mask(), &cache);
        const Tensor dx = encoder.backward(normal(x.shape(), random.stream()), cache);
        return std::vector{y, dx, encoder.layers[0].ff.first.weight.grad()};
    };
    // two layers, forward and backward: maps of 64 columns, heads of 16, 9 words, 256 hidden units;
    // then the 27 rows of a weight's gradient
    same_for_threads(run, 2 * 2 * (3 * 64 + 2 * 16 + 2 * 9 + 256) + 27);
}

TEST_CASE("a wrong number of layers, width or mask is named") {
    Random random(1);
    CHECK_THROWS_WITH(Encoder(small_layer(), 0, random), "encoder: 0 layers, expected at least 1");
    const Encoder encoder(small_layer(), 1, random);
    CHECK_THROWS_WITH(encoder.forward(Tensor::zeros({2, 5, 8}), Mask()),
                      Contains("[2, 5, 8]") && Contains("[B, L, 6]"));
    CHECK_THROWS_WITH(encoder.forward(Tensor::zeros({2, 5, 6}), Mask::zeros({2, 5, 4})),
                      Contains("[2, 1, 5, 4]") && Contains("[2, 3, 5, 5]"));
    LayerOptions o = small_layer();
    o.attention.n_heads = 4;
    CHECK_THROWS_WITH(Encoder(o, 1, random), Contains("6") && Contains("4 heads"));
}

TEST_CASE("every way of an encoder layer gives what plain gives") {
    const Ids ids({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    const Packing packing = leave_out_pads(ids);
    AttentionMask packed = hide_pads(ids), packed_causal = packed | hide_future();
    for (AttentionMask* mask : {&packed, &packed_causal}) mask->queries = mask->keys = packing;
    const auto run = [&](const AttentionMask& mask, const LayerOptions& options) {
        Random random(3);
        EncoderLayer layer(options, random);
        shake(layer, random);
        const Shape shape{2, 5, options.attention.d_model};
        Tensor x = normal(shape, random.stream()), dy = normal(shape, random.stream());
        if (mask.packed()) x = pack(x, packing), dy = pack(dy, packing);
        EncoderLayer::Cache cache;
        Tensor weights;
        const Tensor y = layer.forward(x, mask, &cache, mask.packed() ? nullptr : &weights);
        const Tensor dx = layer.backward(dy, cache);
        return with_gradients({y, dx, weights, layer.forward(x, mask)}, layer);
    };
    const std::pair<const char*, AttentionMask> masks[] = {{"none", {}},
                                                           {"dense", small_mask()},
                                                           {"pads", hide_pads(ids)},
                                                           {"causal", hide_future()},
                                                           {"both", hide_pads(ids) | hide_future()},
                                                           {"packed", packed},
                                                           {"packed, causal", packed_causal}};
    for (const auto& [name, mask] : masks)
        for (const auto placement : {NormPlacement::post, NormPlacement::pre})
            for (const Real dropout : {Real(0), Real(0.3)}) {
                CAPTURE(name, placement == NormPlacement::pre, dropout);
                const LayerOptions options = small_layer(true, true, placement, dropout);
                same_in_every_way([&, seen = mask] { return run(seen, options); });
            }
    LayerOptions block = small_layer(false, true);
    block.attention.shared_head_projections = true;
    same_in_every_way([&] { return run(hide_pads(ids), block); });
    same_in_every_way([&] { return run(packed, medium_layer()); });
}
