// Once: the numbers by hand of the pages on gates and groups and on the block.
#include <cmath>

#include "chapters/15_language_model/block.hpp"
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
