// Per real: the four parts of today's models, and a block of them.
#include <cmath>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/15_language_model/language_model.hpp"
#include "lib/eigen.hpp"
#include "tests/15_language_model/trials.hpp"
#include "tests/gradients.hpp"

using namespace abh;
using proof::Sharing;

namespace {

constexpr double round_off = in_double ? 1e-12 : 2e-5;

}  // namespace

TEST_CASE("a row is divided by its size") {
    RmsNorm norm(2, 0);
    RmsNorm::Cache cache;
    const Real rms = std::sqrt(Real(12.5));
    CHECK(max_difference(norm.forward(Tensor({1, 2}, {3, 4}), &cache),
                         Tensor({1, 2}, {3 / rms, 4 / rms})) < round_off);
    CHECK(max_difference(norm.backward(Tensor({1, 2}, {1, 0}), cache),
                         Tensor({1, 2}, {Real(0.64) / rms, Real(-0.48) / rms})) < round_off);
}

TEST_CASE("epsilon lies under the root and keeps a faint row faint") {
    // the mean square of (0.003, 0.004) is 1.25e-5
    const Tensor x({1, 2}, {Real(0.003), Real(0.004)});
    const Real rms = std::sqrt(Real(2.25e-5));
    CHECK(max_difference(RmsNorm(2, Real(1e-5)).forward(x),
                         Tensor({1, 2}, {Real(0.003) / rms, Real(0.004) / rms})) < round_off);
}

TEST_CASE("the gradients of RMS norm are those of differences") {
    for (Index width : {1, 6, 13}) check_trial(proof::rms_norm(), {.d_model = width});
}

TEST_CASE("a turned pair keeps its length, and turning back is the gradient") {
    for (const Pairing pairing : {Pairing::neighbors, Pairing::halves}) {
        const RotaryOptions options{.base = 100, .pairing = pairing};
        const Tensor x = random_tensor({2, 5, 12}, 3), y = rotate(x, 3, options, 2);
        CHECK(max_difference(rotate_backward(y, 3, options, 2), x) < round_off);
        for (Index r = 0; r < 10; ++r)
            CHECK(std::abs(matrix(x).row(r).norm() - matrix(y).row(r).norm()) < round_off);
        const Tensor dy = random_tensor(x.shape(), 4);
        const double forward = vector(y).dot(vector(dy)),
                     backward = vector(x).dot(vector(rotate_backward(dy, 3, options, 2)));
        CHECK(std::abs(forward - backward) < 100 * round_off);
    }
}

TEST_CASE("the two pairings turn other columns by the same angles") {
    // columns 0, 1, 2, 3 of a head: neighbors turn (0, 1) and (2, 3), halves (0, 2) and (1, 3)
    const Tensor x({1, 2, 4}, {1, 0, 0, 0, 1, 0, 0, 0});
    const Real c = std::cos(Real(1)), s = std::sin(Real(1));
    CHECK(max_difference(rotate(x, 1, {.pairing = Pairing::neighbors}),
                         Tensor({1, 2, 4}, {1, 0, 0, 0, c, s, 0, 0})) < round_off);
    CHECK(max_difference(rotate(x, 1, {.pairing = Pairing::halves}),
                         Tensor({1, 2, 4}, {1, 0, 0, 0, c, 0, s, 0})) < round_off);
}

TEST_CASE("columns in another order turn one pairing into the other") {
    const Tensor x = random_tensor({2, 5, 12}, 3);  // three heads of width 4
    Tensor reordered(x.shape());
    for (Index h = 0; h < 3; ++h)
        for (Index i = 0; const Index column : {0, 2, 1, 3})
            matrix(reordered).col(4 * h + i++) = matrix(x).col(4 * h + column);
    const Tensor neighbors = rotate(x, 3, {.base = 100, .pairing = Pairing::neighbors}, 2),
                 halves = rotate(reordered, 3, {.base = 100, .pairing = Pairing::halves}, 2);
    for (Index h = 0; h < 3; ++h)
        for (Index i = 0; const Index column : {0, 2, 1, 3}) {
            const auto there = matrix(halves).col(4 * h + i++);
            CHECK((there - matrix(neighbors).col(4 * h + column)).cwiseAbs().maxCoeff() <
                  round_off);
        }
}

TEST_CASE("a product of turned rows depends on their distance alone") {
    const Tensor q = random_tensor({1, 1, 8}, 3), k = random_tensor({1, 1, 8}, 4);
    for (const Pairing pairing : {Pairing::neighbors, Pairing::halves}) {
        const RotaryOptions options{.base = 50, .pairing = pairing};
        const auto product = [&](Index t, Index u) {
            return vector(rotate(q, 1, options, t)).dot(vector(rotate(k, 1, options, u)));
        };
        CHECK(std::abs(product(2, 5) - product(9, 12)) < 100 * round_off);
        CHECK(std::abs(product(2, 5) - product(5, 2)) > 0.01);
    }
}

TEST_CASE("packed sentences turn as each of them alone") {
    const Tensor x = random_tensor({1, 5, 8}, 3);  // sentences of 2 and 3 words
    const Packing packing{Ids({3}, {0, 2, 5}), 3};
    const Tensor y = rotate(x, 2, {}, 1, packing);
    const auto alone = [&](Index begin, Index end) {
        const Tensor rows = x.reshape({5, 8}).rows(begin, end);
        return rotate(rows.reshape({1, end - begin, 8}), 2, {}, 1).reshape({end - begin, 8});
    };
    CHECK(same_bits(y.reshape({5, 8}).rows(0, 2).clone(), alone(0, 2)));
    CHECK(same_bits(y.reshape({5, 8}).rows(2, 5).clone(), alone(2, 5)));
    CHECK(max_difference(rotate_backward(y, 2, {}, 1, packing), x) < round_off);
}

TEST_CASE("the gradients of a gated network are those of differences") {
    check_trial(proof::gated_feed_forward());
}

TEST_CASE("heads that share get copies, and what the copies get adds up") {
    const Tensor x({1, 1, 4}, {1, 2, 3, 4});  // two heads of width 2
    CHECK(same_bits(share_heads(x, 2, 4), Tensor({1, 1, 8}, {1, 2, 1, 2, 3, 4, 3, 4})));
    CHECK(same_bits(share_heads_backward(Tensor({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), 2, 4),
                    Tensor({1, 1, 4}, {4, 6, 12, 14})));
    CHECK(same_bits(share_heads_backward(Tensor({1, 1, 6}, {1, 2, 3, 4, 5, 6}), 1, 3),
                    Tensor({1, 1, 2}, {9, 12})));
}

TEST_CASE("the gradients of grouped attention are those of differences") {
    for (const Pairing pairing : {Pairing::neighbors, Pairing::halves})
        for (const auto sharing : {Sharing::one, Sharing::pairs, Sharing::none})
            check_trial(proof::grouped_attention(sharing, pairing), {.d_model = 12});
}

TEST_CASE("with a key head for each query head and no angles it is the layer of chapter 5") {
    Random random(3), same_seed(3);
    const GroupedAttention grouped(
        {.d_model = 12, .n_heads = 3, .n_kv_heads = 3, .rotary = std::nullopt}, random);
    const MultiHeadAttention layer(
        {.d_model = 12, .n_heads = 3, .bias_qkv = false, .bias_out = false}, same_seed);
    const Tensor x = random_tensor({2, 5, 12});
    CHECK(same_bits(grouped.forward(x), layer.forward(x, x, x, hide_future())));
}

TEST_CASE("the gradients of a block are those of differences, whatever it is made of") {
    for (const bool rms_norm : {true, false})
        for (const bool gated : {true, false})
            check_trial(proof::block(Sharing::pairs, Pairing::halves,
                                     {.rms_norm = rms_norm, .gated = gated}),
                        {.d_model = 12});
}
