// Once: the numbers by hand of the pages on gates and groups, on the block, and on fewer bits.
#include <cmath>

#include "chapters/15_language_model/block.hpp"
#include "chapters/15_language_model/published/blocks.hpp"
#include "lib/eigen.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

constexpr double tolerance = 1e-6;                 // of single precision, for numbers around 1
const Real opened = 1 / (1 + std::exp(-Real(1)));  // swish(1)

/// One hidden unit: its gate reads the first number of a row, and what it says is the second.
GatedFeedForward unit() {
    Random random(1);
    GatedFeedForward network(2, 1, random);
    network.gate.weight.assign(Tensor({1, 2}, {1, 0}));
    network.up.weight.assign(Tensor({1, 2}, {0, 1}));
    network.down.weight.assign(Tensor({2, 1}, {1, 0}));
    return network;
}

/// What the first four of some numbers come back as if these fill a block, again and again.
Tensor first_four(const std::vector<double>& numbers, NumberKind kind) {
    Tensor block({1, 32});
    for (std::size_t i = 0; i < 32; ++i)
        vector(block)(static_cast<Index>(i)) = static_cast<Real>(numbers[i % numbers.size()]);
    const Tensor rounded = rounded_matrix(block, kind).read_rows(0, 1);
    return Tensor({4}, {rounded(0, 0), rounded(0, 1), rounded(0, 2), rounded(0, 3)});
}

}  // namespace

TEST_CASE("one number opens a gate, and another number passes") {
    const GatedFeedForward network = unit();
    // good, bad, very good, very bad, lovely
    const Tensor x({1, 5, 2}, {0, 1, 0, -1, 1, 1, 1, -1, 0, 3});
    CHECK(max_difference(network.forward(x),
                         Tensor({1, 5, 2}, {0, 0, 0, 0, opened, 0, -opened, 0, 0, 0})) < tolerance);
}

TEST_CASE("the worked gradient of a gated unit is what backward computes") {
    GatedFeedForward network = unit();
    GatedFeedForward::Cache cache;
    network.forward(Tensor({1, 1, 2}, {1, -1}), &cache);  // very bad
    const Real slope = opened + opened * (1 - opened);
    const Tensor dx = network.backward(Tensor({1, 1, 2}, {2, 0}), cache);
    CHECK(max_difference(dx, Tensor({1, 1, 2}, {-2 * slope, 2 * opened})) < tolerance);
    CHECK(max_difference(network.gate.weight.grad(), Tensor({1, 2}, {-2 * slope, 2 * slope})) <
          tolerance);
    CHECK(max_difference(network.up.weight.grad(), Tensor({1, 2}, {2 * opened, -2 * opened})) <
          tolerance);
    CHECK(max_difference(network.down.weight.grad(), Tensor({2, 1}, {-2 * opened, 0})) < tolerance);
}

TEST_CASE("a shut gate learns, and what it holds back does not") {
    GatedFeedForward network = unit();
    GatedFeedForward::Cache cache;
    network.forward(Tensor({1, 1, 2}, {0, 3}), &cache);  // lovely
    const Tensor dx = network.backward(Tensor({1, 1, 2}, {1, 0}), cache);
    CHECK(max_difference(dx, Tensor({1, 1, 2}, {Real(1.5), 0})) < tolerance);
}

TEST_CASE("query heads read the head of their group, in blocks") {
    const Tensor x({1, 1, 3}, {0, 1, 2});  // three heads of width 1
    CHECK(same_bits(share_heads(x, 3, 9), Tensor({1, 1, 9}, {0, 0, 0, 1, 1, 1, 2, 2, 2})));
}

TEST_CASE("a branch reads the stream through a norm, and adds to the stream itself") {
    Random random(1);
    Block block({.attention = {.d_model = 2, .n_heads = 1, .n_kv_heads = 1, .rotary = {}},
                 .d_ff = 2,
                 .eps = 0},
                random);
    // of a row (a, b), attention makes (0, 6 a), and the network (5 b, 0)
    block.attention.w_v.weight.assign(Tensor({2, 2}, {1, 0, 0, 1}));
    block.attention.w_o.weight.assign(Tensor({2, 2}, {0, 0, 6, 0}));
    FeedForward network(2, 2, false, random);
    network.first.weight.assign(Tensor({2, 2}, {1, 0, 0, 1}));
    network.second.weight.assign(Tensor({2, 2}, {0, 5, 0, 0}));
    block.network = network;
    const Tensor y = block.forward(Tensor({1, 1, 2}, {1, 1}));
    CHECK(max_difference(y, Tensor({1, 1, 2}, {8, 7})) < 1e-5);
    const Tensor second = block.forward(y);
    CHECK(max_difference(second, Tensor({1, 1, 2}, {Real(14.07), Real(13.39)})) < 0.005);
}

TEST_CASE("one outlier takes all levels of its block, and no other block's") {
    const std::vector<double> first{0.38, -0.40, 0.17, -0.09}, second{0.2, 8, 2.8, 4.4},
        both{0.38, -0.40, 0.17, -0.09, 0.2, 8, 2.8, 4.4};
    constexpr double in_fp16 = 1.0 / 2048;  // scales and minima are off by this much of their size
    CHECK(max_difference(first_four(both, NumberKind::q4_0), Tensor::zeros({4})) == 0);
    CHECK(max_difference(first_four(first, NumberKind::q4_0),
                         Tensor({4}, {Real(0.35), Real(-0.40), Real(0.15), Real(-0.10)})) <
          0.40 * in_fp16 + tolerance);
    CHECK(max_difference(first_four(second, NumberKind::q4_0), Tensor({4}, {0, 8, 3, 4})) == 0);
    CHECK(max_difference(first_four(first, NumberKind::q4_1),
                         Tensor({4}, {Real(0.38), Real(-0.40), Real(0.172), Real(-0.088)})) <
          (0.78 + 0.40) * in_fp16 + tolerance);
    CHECK(max_difference(first_four(second, NumberKind::q4_1),
                         Tensor({4}, {Real(0.2), 8, Real(2.8), Real(4.36)})) <
          (7.8 + 0.2) * in_fp16 + tolerance);
}

TEST_CASE("the low halves of a block's bytes are its first half") {
    Tensor numbers({1, 32});
    for (Index i = 0; i < 32; ++i) numbers(0, i) = static_cast<Real>(i < 16 ? i : 0);
    const BlockMatrix block = rounded_matrix(numbers, NumberKind::q4_1);
    for (Index i = 0; i < 16; ++i) CHECK(block.row(0)[4 + i] == static_cast<std::byte>(i));
    CHECK(max_difference(block.read_rows(0, 1), numbers) == 0);
}
