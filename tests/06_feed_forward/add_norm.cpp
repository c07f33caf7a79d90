// Per real and way: dropout, sum and norm as one operation, against its pieces one after another.
#include "chapters/06_feed_forward/add_norm.hpp"

#include <algorithm>

#include "tests/gradients.hpp"
#include "tests/proof/layers.hpp"

using namespace abh;

namespace {

// x + s / (1 - p) may be rounded once or twice; the norm divides the difference by the rows'
// deviation, which is of order one, and a gradient sums up to 200 rows of such numbers.
constexpr double round_off = in_double ? 1e-12 : 2e-5;

/// The numbers of a mask, to be compared with others.
Tensor numbers_of(const Mask& mask) {
    Tensor numbers(mask.shape());
    std::copy(mask.values().begin(), mask.values().end(), numbers.data());
    return numbers;
}

}  // namespace

TEST_CASE("add and norm is its pieces, forward and backward") {
    for (Index d_model : {7, 64})
        for (Index n_rows : {1, 15, 16, 17, 63, 65, 200})
            for (bool affine : {false, true})
                for (Real p : {Real(0), Real(0.3)}) {
                    CAPTURE(d_model, n_rows, affine, p);
                    Random random(4), same_seed(4);
                    AddNorm whole(d_model, {.norm = {.affine = affine}, .dropout = p}, random);
                    LayerNorm norm(d_model, {.affine = affine});
                    const Dropout dropout(p, same_seed);
                    shake(whole.norm);
                    shake(norm);
                    const Shape shape{n_rows, 1, d_model};
                    const Tensor x = random_tensor(shape, 5), s = random_tensor(shape, 6),
                                 dy = random_tensor(shape, 7);
                    const Tensor x_before = x.clone(), s_before = s.clone();

                    AddNorm::Cache cache;
                    Dropout::Cache dropped;
                    LayerNorm::Cache normed;
                    const Tensor y = whole.after(x, s, &cache);
                    const Tensor branch = dropout.forward(s, &dropped);
                    REQUIRE(max_difference(y, norm.forward(x + branch, &normed)) < round_off);
                    REQUIRE(same_bits(cache.dropout.kept, dropped.kept));
                    REQUIRE(max_difference(cache.norm.normalized, normed.normalized) < round_off);

                    const AddNorm::Gradients d = whole.after_backward(dy, cache);
                    const Tensor dsum = norm.backward(dy, normed);
                    REQUIRE(max_difference(d.dx, dsum) < round_off);
                    REQUIRE(max_difference(d.dsublayer, dropout.backward(dsum, dropped)) <
                            round_off);
                    for (const auto& [a, b] : {std::pair{&whole.norm.gamma, &norm.gamma},
                                               {&whole.norm.beta, &norm.beta}})
                        REQUIRE(max_difference(a->grad(), b->grad()) < 10 * round_off);

                    const Tensor still = whole.after(x, s);  // without a cache nothing is dropped
                    REQUIRE(same_bits(still, norm.forward(x + s)));
                    REQUIRE(same_bits(x, x_before));
                    REQUIRE(same_bits(s, s_before));
                }
}

TEST_CASE("add and norm gives the same bits for any number of threads", "[fast]") {
    const Tensor x = random_tensor({203, 33}, 5), s = random_tensor({203, 33}, 6),
                 dy = random_tensor({203, 33}, 7);
    same_for_threads([&] {
        Random random(4);
        AddNorm add_norm(33, {.dropout = Real(0.3)}, random);
        shake(add_norm.norm);
        AddNorm::Cache cache;
        const Tensor y = add_norm.after(x, s, &cache);
        const AddNorm::Gradients d = add_norm.after_backward(dy, cache);
        return with_gradients({y, d.dx, d.dsublayer}, add_norm);
    });
}

TEST_CASE("layer norm gives the same bits with a cache and without, for any number of threads",
          "[fast]") {
    for (Index n : {1, 7, 64})
        for (Index n_rows : {1, 16, 131}) {
            LayerNorm norm(n);
            shake(norm);
            const Tensor x = random_tensor({n_rows, n}, 5), dy = random_tensor({n_rows, n}, 6);
            same_for_threads([&] {
                LayerNorm::Cache cache;
                const Tensor y = norm.forward(x, &cache);
                REQUIRE(same_bits(norm.forward(x), y));
                zero_grad(parameters_of(norm));
                return with_gradients({y, norm.backward(dy, cache)}, norm);
            });
        }
}

TEST_CASE("add and norm's gradients match central differences over several blocks of rows") {
    for (Real p : {Real(0), Real(0.3)})
        check_trial(proof::add_norm({.dropout = p}), {.length = 67, .d_model = 5});
}

TEST_CASE("every way of add and norm gives what plain gives and drops the same elements") {
    const auto run = [](const Shape& shape, Real p, bool affine, Index before) {
        Random random(0x123456789abcdefu);
        LayerNorm norm(shape[-1], {.affine = affine});
        shake(norm);
        const Dropout dropout(p, random);
        random.next_step();
        const auto numbers = [&](std::uint64_t seed) {
            const Index n = shape[0] * shape[2];
            return random_tensor({before + n}, seed).rows(before, before + n).reshape(shape);
        };
        const Tensor x = numbers(5), s = numbers(6), dy = numbers(7);
        AddNormCache cache;
        const Tensor y = add_norm(x, s, dropout, norm, &cache);
        const AddNormGradients d = add_norm_backward(dy, dropout, norm, cache);
        return with_gradients(
            {y, d.dx, d.dsublayer, numbers_of(cache.dropout.kept), cache.norm.normalized,
             cache.norm.inverse_stddev, add_norm(x, s, dropout, norm, nullptr)},
            norm);
    };
    // 512 numbers fill a warp's registers, 4096 a block's; where a number may be dropped, a row of
    // odd width takes up to three places more
    for (Index n : {1, 7, 33, 36, 257, 512, 514, 1540, 4093, 4094})
        for (Index n_rows : {0, 1, 9, 66})
            for (Real p : {Real(0), Real(0.3)}) {
                if (n > 600 && n_rows > 1) continue;
                CAPTURE(n, n_rows, p);
                const Index before = n == 36 && n_rows == 9;  // no four begins there
                same_in_every_way([&] { return run({n_rows, 1, n}, p, n_rows != 9, before); });
            }
}
