// Per real and way: an encoder's layer and the stack.
#include <algorithm>
#include <cmath>
#include <set>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/03_masks/masks.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/gradcheck.hpp"
#include "tests/layers.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

// Two orders of summation of numbers of order one: some tens of roundings of the type's epsilon.
constexpr double round_off = in_double ? 1e-13 : 2e-5;

/// Two sentences of five and three words, in the columns of five.
Mask small_mask() {
    const Ids ids = ids_of({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    return padding_mask(ids, ids);
}

/// Rows `first` to `first + count - 1` of the first sentence of `[B, L, d]`.
Tensor rows_of(const Tensor& x, Index first, Index count) {
    Tensor part({count, x.dim(2)});
    matrix(part) = matrix(x).middleRows(first, count);
    return part;
}

/// `dx` and the gradient of every parameter against central differences.
template <class Layer>
void check_all_gradients(Layer& layer, Random& random) {
    const Tensor x = normal({2, 5, 6}, random.stream());
    const Tensor dy = normal({2, 5, 6}, random.stream());
    const Mask mask = small_mask();
    const auto forward = [&] {
        typename Layer::Cache
            unused;  // with a cache dropout acts, with the same elements each time
        return layer.forward(x, mask, &unused);
    };
    typename Layer::Cache cache;
    layer.forward(x, mask, &cache);
    zero_grad(parameters_of(layer));
    const Tensor dx = layer.backward(dy, cache);

    // thousands of forward passes, too many for an emulated device; the gradients are its own
    const ScopedWay scoped(way() == Way::cuda ? Way::fast : way());
    const GradientError error = check_gradient(forward, x, dx, dy);
    INFO("x: " << to_string(error));
    CHECK(error.relative < 1e-6);
    for (const NamedParameter& p : parameters_of(layer)) {
        const GradientError e =
            check_gradient(forward, p.parameter->value, p.parameter->grad(), dy);
        INFO(p.name << ": " << to_string(e));
        CHECK(e.relative < 1e-6);
    }
}

}  // namespace

TEST_CASE("an encoder layer of the toy has 3,145,728 parameters") {
    Random random(1);
    EncoderLayer layer(toy_layer(), random);
    CHECK(count_elements(parameters_of(layer)) == 3'145'728);
    CHECK(count_elements(parameters_of(layer.self_attn)) == 4 * 512 * 512);
    CHECK(count_elements(parameters_of(layer.ff)) == 2 * 512 * 2048);
    CHECK(parameters_of(layer.norm1.norm).empty());
}

TEST_CASE("an encoder layer of the shared-head block has 595,456 parameters") {
    Random random(1);
    EncoderLayer layer(shared_head_layer(), random);
    CHECK(count_elements(parameters_of(layer)) == 595'456);
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

TEST_CASE("parameters have PyTorch's names") {
    Random random(1);
    Encoder encoder(small_layer(true, true, NormPlacement::pre), 2, random);
    std::set<std::string> names;
    for (const NamedParameter& p : parameters_of(encoder, "encoder")) names.insert(p.name);
    for (const char* name :
         {"encoder.layers.0.self_attn.w_q.weight", "encoder.layers.1.self_attn.w_o.bias",
          "encoder.layers.0.linear1.weight", "encoder.layers.1.linear2.bias",
          "encoder.layers.0.norm1.weight", "encoder.layers.1.norm2.bias", "encoder.norm.weight"})
        CHECK(names.count(name) == 1);
    CHECK(names.size() == 2 * (4 + 2 + 2) * 2 + 2);
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

TEST_CASE("a stack is its layers one after another") {
    Random random(1);
    for (const auto placement : {NormPlacement::post, NormPlacement::pre}) {
        Encoder encoder(small_layer(true, true, placement), 3, random);
        shake(encoder, random);
        const Tensor x = normal({2, 5, 6}, random.stream());
        Tensor y = x;
        for (const EncoderLayer& layer : encoder.layers) y = layer.forward(y, small_mask());
        CHECK(encoder.norm.has_value() == (placement == NormPlacement::pre));
        if (encoder.norm) y = encoder.norm->forward(y);
        CHECK(same_bits(encoder.forward(x, small_mask()), y));
    }
}

TEST_CASE("an encoder layer is its equation") {
    Random random(1);
    const Tensor x = normal({2, 5, 6}, random.stream());
    const Mask mask = small_mask();

    EncoderLayer post(small_layer(true, true), random);
    shake(post, random);
    const Tensor a = post.norm1.norm.forward(x + post.self_attn.forward(x, x, x, mask));
    CHECK(max_difference(post.forward(x, mask), post.norm2.norm.forward(a + post.ff.forward(a))) <
          round_off);

    EncoderLayer pre(small_layer(true, true, NormPlacement::pre), random);
    shake(pre, random);
    const Tensor h = pre.norm1.norm.forward(x);
    const Tensor b = x + pre.self_attn.forward(h, h, h, mask);
    CHECK(max_difference(pre.forward(x, mask), b + pre.ff.forward(pre.norm2.norm.forward(b))) <
          round_off);
}

TEST_CASE("with the fixed norm after it, every row of a layer has mean 0 and norm sqrt(d_model)") {
    Random random(1);
    Encoder encoder(medium_layer(), 2, random);
    const Tensor y = encoder.forward(normal({2, 5, 64}, random.stream()), Mask());
    for (Index r = 0; r < 10; ++r) {
        CHECK(std::abs(matrix(y).row(r).mean()) < Real(1e-6));
        CHECK(matrix(y).row(r).norm() == Approx(8).epsilon(1e-4));  // eps 1e-5 takes 5e-6 of it
    }
}

TEST_CASE("more padding leaves the words' rows as they are") {
    Random random(1);
    Encoder encoder(medium_layer(), 6, random);
    const Embedding embedding(11, 64, {}, random);
    const PositionalEncoding positions(64, {.max_len = 100}, random);
    const auto words = [&](Index more, bool masked) {
        Ids ids = Ids::zeros({1, 8 + more});
        for (std::int32_t i = 0; i < 7; ++i) ids(0, i) = i + 1;
        const Mask mask = masked ? padding_mask(ids, ids) : Mask();
        return rows_of(encoder.forward(positions.forward(embedding.forward(ids)), mask), 0, 7);
    };
    for (const Index more : {1, 3, 12, 50}) {
        CHECK(max_difference(words(0, true), words(more, true)) < round_off);
        CHECK(max_difference(words(0, false), words(more, false)) > 0.01);
    }
}

TEST_CASE("what stands in a padded place does not reach the words") {
    Random random(1);
    Encoder encoder(small_layer(true, true), 3, random);
    const Tensor x = normal({2, 5, 6}, random.stream());
    Tensor other = x.clone();
    for (Index j = 0; j < 6; ++j) other(1, 3, j) = other(1, 4, j) = 100;
    const Tensor y = encoder.forward(x, small_mask()), z = encoder.forward(other, small_mask());
    CHECK(std::equal(y.data(), y.data() + 8 * 6, z.data()));  // five words, then three words
    CHECK_FALSE(
        std::equal(y.data() + 8 * 6, y.data() + 60, z.data() + 8 * 6));  // the pads' own rows
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

TEST_CASE("every gradient of an encoder layer is that of central differences") {
    if constexpr (in_double) {
        std::uint64_t seed = 1;
        for (const auto placement : {NormPlacement::post, NormPlacement::pre})
            for (const bool bias : {false, true})
                for (const bool affine : {false, true})
                    for (const Real dropout : {Real(0), Real(0.3)}) {
                        Random random(++seed);
                        EncoderLayer layer(small_layer(bias, affine, placement, dropout), random);
                        shake(layer, random);
                        check_all_gradients(layer, random);
                    }
    }
}

TEST_CASE("every gradient of a stack of two layers is that of central differences") {
    if constexpr (in_double) {
        std::uint64_t seed = 100;
        for (const auto placement : {NormPlacement::post, NormPlacement::pre})
            for (const bool bias_and_affine : {false, true})
                for (const Real dropout : {Real(0), Real(0.3)}) {
                    Random random(++seed);
                    Encoder encoder(
                        small_layer(bias_and_affine, bias_and_affine, placement, dropout), 2,
                        random);
                    shake(encoder, random);
                    check_all_gradients(encoder, random);
                }
    }
}

TEST_CASE("backward twice adds the parameters' gradients twice and returns the same dx") {
    Random random(1);
    for (const auto placement : {NormPlacement::post, NormPlacement::pre}) {
        Encoder encoder(small_layer(true, true, placement, Real(0.2)), 2, random);
        const Tensor x = normal({2, 5, 6}, random.stream()),
                     dy = normal({2, 5, 6}, random.stream());
        Encoder::Cache cache;
        encoder.forward(x, small_mask(), &cache);
        const Tensor hidden = cache.layers[0].ff.hidden.clone();
        const Tensor attended = kept_by(cache.layers[1].self_attn).clone();
        REQUIRE(attended.size() > 0);
        const Tensor normalized = cache.layers[1].norm2.norm.normalized.clone();

        const Tensor dy_before = dy.clone();
        const Tensor once = encoder.backward(dy, cache).clone();
        const std::vector<Tensor> first = with_gradients({}, encoder);
        const Tensor twice = encoder.backward(dy, cache);

        CHECK(same_bits(once, twice));
        CHECK(same_bits(dy, dy_before));
        std::size_t i = 0;
        for (const NamedParameter& p : parameters_of(encoder)) {
            Tensor doubled = first[i].clone();
            doubled *= 2;
            INFO(p.name);
            CHECK(max_difference(doubled, p.parameter->grad()) <=
                  1e-5 * std::sqrt(dot(first[i], first[i])));
            ++i;
        }
        CHECK(same_bits(hidden, cache.layers[0].ff.hidden));
        CHECK(same_bits(attended, kept_by(cache.layers[1].self_attn)));
        CHECK(same_bits(normalized, cache.layers[1].norm2.norm.normalized));
    }
}

TEST_CASE("an encoder gives the same numbers with any number of threads", "[fast]") {
    const auto run = [](int n) {
        set_threads(n);
        Random random(5);
        Encoder encoder(medium_layer(), 2, random);
        const Tensor x = normal({3, 9, 64}, random.stream());
        Encoder::Cache cache;
        const Tensor y = encoder.forward(x, Mask(), &cache);
        const Tensor dx = encoder.backward(normal(x.shape(), random.stream()), cache);
        set_threads(1);
        return std::vector{y, dx, encoder.layers[0].ff.first.weight.grad()};
    };
    // two layers, forward and backward: maps of 64 columns, heads of 16, 9 words, 256 hidden units;
    // then the 27 rows of a weight's gradient
    constexpr Index additions = 2 * 2 * (3 * 64 + 2 * 16 + 2 * 9 + 256) + 27;
    const std::vector<Tensor> one = run(1);
    for (const int n : {1, 2, 3}) {
        const std::vector<Tensor> other = run(n), again = run(n);
        for (std::size_t i = 0; i < one.size(); ++i) {
            CHECK(same_for_threads(one[i], other[i], additions));
            CHECK(same_bits(other[i], again[i]));
        }
    }
}

TEST_CASE("another seed gives another encoder") {
    Random one(1), two(2);
    CHECK_FALSE(same_bits(EncoderLayer(small_layer(), one).self_attn.w_q.weight.value,
                          EncoderLayer(small_layer(), two).self_attn.w_q.weight.value));
}

TEST_CASE("dropout acts with a cache only, and moves on with the step") {
    Random random(1);
    Encoder encoder(small_layer(false, false, NormPlacement::post, Real(0.3)), 2, random);
    const Tensor x = normal({2, 5, 6}, random.stream());
    const auto train = [&] {
        Encoder::Cache cache;
        return encoder.forward(x, Mask(), &cache);
    };
    CHECK(same_bits(encoder.forward(x, Mask()), encoder.forward(x, Mask())));
    CHECK(same_bits(train(), train()));
    CHECK_FALSE(same_bits(train(), encoder.forward(x, Mask())));
    const Tensor first = train();
    random.next_step();
    CHECK_FALSE(same_bits(first, train()));
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
    const Ids ids = ids_of({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
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

TEST_CASE("every way of a stack of encoder layers gives what plain gives") {
    const Ids ids = ids_of({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    for (const auto placement : {NormPlacement::post, NormPlacement::pre})
        same_in_every_way([&] {
            Random random(3);
            Encoder encoder(small_layer(true, true, placement, Real(0.2)), 3, random);
            shake(encoder, random);
            const Tensor x = normal({2, 5, 6}, random.stream());
            Encoder::Cache cache;
            std::vector<Tensor> weights;
            const Tensor y = encoder.forward(x, hide_pads(ids), &cache, &weights);
            const Tensor dx = encoder.backward(normal({2, 5, 6}, random.stream()), cache);
            return with_gradients({y, dx, weights[0], weights[2]}, encoder);
        });
}

TEST_CASE("words whose pads are left out get the rows and gradients of padded ones") {
    const Ids ids = ids_of({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    const Packing packing = leave_out_pads(ids);
    AttentionMask packed = hide_pads(ids);
    packed.queries = packed.keys = packing;
    for (const auto placement : {NormPlacement::post, NormPlacement::pre}) {
        const auto run = [&](bool leave_out) {
            Random random(3);
            Encoder encoder(small_layer(true, true, placement), 2, random);
            shake(encoder, random);
            const Tensor x = pack(normal({2, 5, 6}, random.stream()), packing),
                         dy = pack(normal({2, 5, 6}, random.stream()), packing);
            Encoder::Cache cache;
            const Tensor y = leave_out
                                 ? encoder.forward(x, packed, &cache)
                                 : encoder.forward(unpack(x, packing), hide_pads(ids), &cache);
            const Tensor dx = encoder.backward(leave_out ? dy : unpack(dy, packing), cache);
            return with_gradients(
                {leave_out ? y : pack(y, packing), leave_out ? dx : pack(dx, packing)}, encoder);
        };
        const std::vector<Tensor> padded = run(false), left_out = run(true);
        for (std::size_t i = 0; i < padded.size(); ++i) CHECK(agree(padded[i], left_out[i]));
    }
}
