// Once: chapter 12: what a step must do at least, limits, and comparisons.
#include <cmath>
#include <limits>
#include <set>

#include "chapters/09_training/optimizer/optimizer.hpp"
#include "chapters/10_greedy_decoding/greedy_decoding.hpp"
#include "chapters/12_where_the_time_goes/limits.hpp"
#include "chapters/12_where_the_time_goes/operations.hpp"
#include "chapters/12_where_the_time_goes/traps.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

constexpr double real = sizeof(Real);

/// Width 4, two heads, d_ff 3, five and seven words, one encoder layer and two decoder layers.
TransformerOptions tiny() {
    TransformerOptions o;
    o.src_words = 5;
    o.tgt_words = 7;
    o.n_encoder_layers = 1;
    o.n_decoder_layers = 2;
    o.layer.attention.d_model = 4;
    o.layer.attention.n_heads = 2;
    o.layer.d_ff = 3;
    return o;
}

std::vector<std::pair<const char*, TransformerOptions>> kinds() {
    TransformerOptions pre = tiny(), shared = TransformerOptions::shared_heads(), bare = tiny();
    pre.layer.add_norm.placement = NormPlacement::pre;
    shared.layer.attention.d_model = 8;
    shared.layer.attention.n_heads = 4;
    shared.layer.d_ff = 6;
    bare.layer.attention.bias_qkv = bare.layer.attention.bias_out = bare.layer.ff_bias = false;
    bare.layer.add_norm.norm.affine = bare.output_bias = false;
    return {{"with biases", tiny()}, {"pre-norm", pre}, {"shared heads", shared}, {"bare", bare}};
}

/// Multiply-adds of one pass over a sentence, counted map by map from the model's own weights, and
/// for attention element by element.
double count_forward(const TransformerOptions& o, Index src, Index tgt) {
    Transformer model(o, Random(1));
    const Index slices = o.layer.attention.shared_head_projections ? o.layer.attention.n_heads : 1;
    Index count = 0;
    for (const auto& [name, p] : parameters_of(model)) {
        const bool table =
            name.find("embed") != std::string::npos || name.find("positions") != std::string::npos;
        if (p->value.rank() != 2 || table) continue;
        const bool memory = name.find("multihead_attn.w_k") != std::string::npos ||
                            name.find("multihead_attn.w_v") != std::string::npos;
        const bool small = name.find("w_q") != std::string::npos ||
                           name.find("w_k") != std::string::npos ||
                           name.find("w_v") != std::string::npos;
        const bool reads_source = name.starts_with("encoder") || memory;
        count += (reads_source ? src : tgt) * (small ? slices : 1) * p->value.size();
    }
    const auto attend = [&](Index queries, Index keys) {
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j)
                for (Index column = 0; column < o.layer.attention.d_model; ++column) count += 2;
    };
    for (Index n = 0; n < o.n_encoder_layers; ++n) attend(src, src);
    for (Index n = 0; n < o.n_decoder_layers; ++n) attend(tgt, tgt), attend(tgt, src);
    return static_cast<double>(count);
}

}  // namespace

// All counts here are whole numbers below 2^53, exact as doubles: == is meant.

TEST_CASE("the floor of a training step counts as a hand does") {
    // A row of the encoder: 4 x 16 weights of attention, 2 x 12 of feed-forward: 88. Of the
    // decoder: 88 and 2 x 16 for cross-attention's queries and result; a source row 2 x 16 for its
    // keys and values; the output 28. With 3 source and 2 target words, attention 2 * 9 * 4 in the
    // encoder, 2 * 4 * 4 + 2 * 6 * 4 in a decoder layer.
    const Floor floor = training_floor(tiny(), 1, 3, 2, OptimizerKind::momentum);
    const double forward = 3 * 88 + 72 + 2 * (2 * 120 + 3 * 32 + 32 + 48) + 2 * 28;
    CHECK(floor.multiply_adds == 3 * forward);
    CHECK(floor.bytes_read == real * (88 + 2 * (120 + 32) + 28));
    // tables 12 x 4; matrices 420; biases: encoder 16 + 3 + 4, decoder layer 32 + 3 + 4, output 7;
    // norms 8 each, 2 and 2 x 3
    const double parameters = 48 + 420 + 23 + 2 * 39 + 7 + 8 * 8;
    CHECK(floor.bytes_updated == real * 2 * 2 * parameters);
    CHECK(training_floor(tiny(), 1, 3, 2, OptimizerKind::adam).bytes_updated ==
          real * 2 * 3 * parameters);
    CHECK(training_floor(tiny(), 5, 3, 2, OptimizerKind::adam).multiply_adds == 5 * 3 * forward);
}

TEST_CASE("the floor counts every weight that the model has, and every product once") {
    for (const auto& [name, o] : kinds()) {
        INFO(name);
        Transformer model(o, Random(1));
        CHECK(count_parameters(o) == count_elements(parameters_of(model)));
        for (const auto& [src, tgt] : {std::pair<Index, Index>{3, 2}, {1, 1}, {2, 5}})
            CHECK(training_floor(o, 1, src, tgt, OptimizerKind::adam).multiply_adds ==
                  3 * count_forward(o, src, tgt));
    }
}

TEST_CASE("the toy has 44 million weights and the floor that the benchmark computes") {
    // counted by hand from the sizes of the toy
    const Floor floor = training_floor(TransformerOptions::toy(), 2, 8, 7, OptimizerKind::momentum);
    CHECK(count_parameters(TransformerOptions::toy()) == 44'058'112);
    CHECK(floor.bytes_read == real * 44'046'336);
    CHECK(floor.bytes_updated == real * 4 * 44'058'112);
    CHECK(floor.multiply_adds == 3'976'593'408 / 2);
}

TEST_CASE(
    "a decoder that keeps keys and values reads its weights once a word, whatever the batch") {
    for (const auto& [name, o] : kinds()) {
        INFO(name);
        const Index src = 3, words = 4;
        const Floor one = decoding_floor(o, 1, src, words), five = decoding_floor(o, 5, src, words);
        TransformerOptions encoder = o;
        encoder.n_decoder_layers = 0;
        encoder.tgt_words = 0;
        double encoded = 0;  // multiply-adds of the encoder
        for (const LinearMaps& m : linear_maps(encoder, src, 0))
            encoded += static_cast<double>(m.multiply_adds());
        encoded +=
            static_cast<double>(o.n_encoder_layers * 2 * src * src * o.layer.attention.d_model);
        CHECK(one.multiply_adds ==
              encoded + static_cast<double>(decoder_multiply_adds(o, src, words, true)));
        CHECK(five.multiply_adds == 5 * one.multiply_adds);
        CHECK(five.bytes_read == one.bytes_read);
        CHECK(one.bytes_updated == 0);
        const double word = decoding_floor(o, 1, src, words + 1).bytes_read - one.bytes_read;
        double decoder = 0;
        for (const LinearMaps& m : linear_maps(o, 0, 1))
            decoder += m.n_rows > 0 ? static_cast<double>(m.weights()) : 0;
        CHECK(word == real * decoder);
    }
}

TEST_CASE("a floor is the longer of products and memory, where no cache holds the bytes") {
    Limits limits{.product_flops = 2e9, .read = 1e9, .copy = 4e9, .update = 2e9};
    const Floor floor{3e9, 1e9, 4e9, 2e9};
    const LeastTime time = least_time(floor, limits);
    CHECK(time.products_ms == Approx(3000));  // two operations a multiply-add
    CHECK(time.memory_ms == Approx(1000 + 2000 + 500));
    CHECK(floor_ms(floor, limits) == Approx(3500));
    CHECK(floor_ms({4e9, 1e9, 4e9, 2e9}, limits) == Approx(4000));
    const Floor words{.bytes_read = 24e9, .bytes_again = 20e9, .again = 5};
    CHECK(floor_ms(words, limits) == Approx(24000));
    limits.cache = 3e9;
    CHECK(floor_ms(words, limits) == Approx(24000 - 5 * 3000));
    limits.cache = 5e9;
    CHECK(floor_ms(words, limits) == Approx(4000));
    limits.cache = 3e9;
    CHECK(floor_ms(floor, limits) == Approx(3500));
    limits.cache = 4e9;
    CHECK(floor_ms(floor, limits) == Approx(3000));
    limits.cache = 0;  // unknown: some megabytes may still be in one
    CHECK(floor_ms({3e6, 1e6, 4e6, 2e6}, limits) == Approx(3));
    CHECK(floor_ms({3e7, 1e7, 4e7, 2e7}, limits) == Approx(35));
}

TEST_CASE("limits are rates that a machine can have") {
    const Limits limits = measure_limits(Index{1} << 20, 0.001);
    for (const double rate : {limits.product_flops, limits.read, limits.copy, limits.update}) {
        CHECK(rate > 1e6);  // a 1 MHz machine
        CHECK(rate < 1e16);
    }
}

TEST_CASE("what is compared gives the same result") {
    const std::vector<Trap> list = traps();
    CHECK(list.size() == 4);
    for (const Trap& trap : list) {
        INFO(trap.name);
        const Tensor a = trap.with(), b = trap.without();
        REQUIRE(a.shape() == b.shape());
        double largest = 1;
        for (const Real value : a.values()) largest = std::max<double>(largest, std::abs(value));
        // Sums of up to 32768 numbers in another order, the sum in order the worst: each of its
        // additions can be off by half an epsilon of the sum so far, and the errors are random.
        const double bound = 256 * static_cast<double>(std::numeric_limits<Real>::epsilon());
        CHECK(max_difference(a, b) <= bound * largest);
    }
}

TEST_CASE("every operation that is measured runs under both ways, and has a floor") {
    std::set<std::string> keys;
    measure_operations(
        [&](const std::string& key, const std::string& name, const Floor& floor, const Work& work) {
            INFO(name);
            CHECK(keys.insert(key).second);
            CHECK(floor.bytes() > 0);
            for (const Way each : {Way::plain, Way::fast}) under(each, work)();
        });
    CHECK(keys.size() == n_operations);
}
