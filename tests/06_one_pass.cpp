// Sum, dropout and norm in one pass over the rows, against the pieces one after another.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chapters/06_feed_forward/add_norm.hpp"
#include "lib/gradcheck.hpp"
#include "lib/parallel.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

// x + s / (1 - p) is rounded once or twice; the norm divides the difference by the rows' deviation,
// which is of order one, and a gradient sums up to 200 rows of such numbers.
constexpr double round_off = in_double ? 1e-12 : 2e-5;

struct Pieces {
    LayerNorm norm;
    Dropout dropout;

    Pieces(Index d_model, bool learned, Real p, Random& random)
        : norm(d_model, {.learned = learned}), dropout(p, random) {}
};

void bend(LayerNorm& norm) {
    Random random(21);
    norm.gain.value = uniform(norm.gain.value.shape(), Real(0.5), Real(1.5), random.stream());
    norm.shift.value = uniform(norm.shift.value.shape(), -1, 1, random.stream());
}

}  // namespace

TEST_CASE("add and norm in one pass is its pieces, forward and backward") {
    for (Index d_model : {7, 64})
        for (Index n_rows : {1, 15, 16, 17, 63, 65, 200})
            for (bool learned : {false, true})
                for (Real p : {Real(0), Real(0.3)}) {
                    CAPTURE(d_model, n_rows, learned, p);
                    Random random(4), same_seed(4);
                    AddNorm whole(d_model, {.norm = {.learned = learned}, .dropout = p}, random);
                    Pieces pieces(d_model, learned, p, same_seed);
                    bend(whole.norm);
                    bend(pieces.norm);
                    const Shape shape{n_rows, 1, d_model};
                    const Tensor x = random_tensor(shape, 5), s = random_tensor(shape, 6),
                                 dy = random_tensor(shape, 7);
                    const Tensor x_before = x.clone(), s_before = s.clone();

                    AddNorm::Cache cache;
                    Dropout::Cache dropped;
                    LayerNorm::Cache normed;
                    const Tensor y = whole.after(x, s, &cache);
                    const Tensor branch = pieces.dropout.forward(s, &dropped);
                    REQUIRE(max_difference(y, pieces.norm.forward(x + branch, &normed)) <
                            round_off);
                    REQUIRE(same_bits(cache.dropout.kept, dropped.kept));
                    REQUIRE(max_difference(cache.norm.normalized, normed.normalized) < round_off);

                    const AddNorm::Gradients d = whole.after_backward(dy, cache);
                    const Tensor dsum = pieces.norm.backward(dy, normed);
                    REQUIRE(max_difference(d.dx, dsum) < round_off);
                    REQUIRE(max_difference(d.dsublayer, pieces.dropout.backward(dsum, dropped)) <
                            round_off);
                    for (const auto& [a, b] : {std::pair{&whole.norm.gain, &pieces.norm.gain},
                                               {&whole.norm.shift, &pieces.norm.shift}})
                        REQUIRE(max_difference(a->grad(), b->grad()) < 10 * round_off);

                    const Tensor still = whole.after(x, s);  // without a cache nothing is dropped
                    REQUIRE(same_bits(still, pieces.norm.forward(x + s)));
                    REQUIRE(same_bits(x, x_before));
                    REQUIRE(same_bits(s, s_before));
                }
}

TEST_CASE("a width that is not the norm's is refused by add and norm in one pass, too") {
    Random random(1);
    const AddNorm add_norm(6, {}, random);
    const Tensor x = Tensor::zeros({2, 3, 5});
    REQUIRE_THROWS_WITH(add_norm.after(x, x),
                        "layer norm: x has shape [2, 3, 5], expected [..., 6]");
    REQUIRE_THROWS_WITH(add_norm.after(x, Tensor::zeros({2, 3, 6})),
                        Contains("[2, 3, 5]") && Contains("[2, 3, 6]"));
}

TEST_CASE("add and norm in one pass gives the same bits for any number of threads") {
    const Tensor x = random_tensor({203, 33}, 5), s = random_tensor({203, 33}, 6),
                 dy = random_tensor({203, 33}, 7);
    const auto run = [&](int n) {
        set_threads(n);
        Random random(4);
        AddNorm add_norm(33, {.dropout = Real(0.3)}, random);
        bend(add_norm.norm);
        AddNorm::Cache cache;
        const Tensor y = add_norm.after(x, s, &cache);
        const AddNorm::Gradients d = add_norm.after_backward(dy, cache);
        set_threads(1);
        return std::vector{y, d.dx, d.dsublayer, add_norm.norm.gain.grad(),
                           add_norm.norm.shift.grad()};
    };
    const std::vector<Tensor> one = run(1);
    for (int n : {2, 3, 5}) {
        const std::vector<Tensor> other = run(n);
        for (std::size_t i = 0; i < one.size(); ++i) REQUIRE(same_bits(one[i], other[i]));
    }
}

TEST_CASE("layer norm gives the same bits with a cache and without, for any number of threads") {
    for (Index n : {1, 7, 64})
        for (Index n_rows : {1, 16, 131}) {
            LayerNorm norm(n);
            bend(norm);
            const Tensor x = random_tensor({n_rows, n}, 5), dy = random_tensor({n_rows, n}, 6);
            const Tensor y = norm.forward(x);
            const auto backward = [&] {
                LayerNorm::Cache cache;
                REQUIRE(same_bits(norm.forward(x, &cache), y));
                norm.gain.zero_grad();
                norm.shift.zero_grad();
                const Tensor dx = norm.backward(dy, cache);
                return std::vector{dx, norm.gain.grad().clone(), norm.shift.grad().clone()};
            };
            const std::vector<Tensor> one = backward();
            for_threads([&](int) {
                REQUIRE(same_bits(norm.forward(x), y));
                const std::vector<Tensor> other = backward();
                for (std::size_t i = 0; i < one.size(); ++i) REQUIRE(same_bits(one[i], other[i]));
            });
        }
}

TEST_CASE("gain's and shift's gradients are sums over all rows, however many") {
    for (Index n_rows : {1, 15, 16, 17, 64, 65, 200}) {
        LayerNorm norm(7);
        const Tensor x = random_tensor({n_rows, 7}, 5), dy = random_tensor({n_rows, 7}, 6);
        LayerNorm::Cache cache;
        norm.forward(x, &cache);
        norm.backward(dy, cache);
        norm.backward(dy, cache);  // adds
        for (Index c = 0; c < 7; ++c) {
            double dgain = 0, dshift = 0;
            for (Index r = 0; r < n_rows; ++r) {
                dgain += 2 * static_cast<double>(dy(r, c) * cache.normalized(r, c));
                dshift += 2 * static_cast<double>(dy(r, c));
            }
            CAPTURE(n_rows, c);
            REQUIRE(std::abs(static_cast<double>(norm.gain.grad()(c)) - dgain) < 10 * round_off);
            REQUIRE(std::abs(static_cast<double>(norm.shift.grad()(c)) - dshift) < 10 * round_off);
        }
    }
}

TEST_CASE("add and norm's gradients match central differences over several blocks of rows") {
    if constexpr (in_double) {
        for (Real p : {Real(0), Real(0.3)}) {
            Random random(13);
            AddNorm add_norm(5, {.dropout = p}, random);
            bend(add_norm.norm);
            const Shape shape{2, 35, 5};
            const Tensor x = random_tensor(shape, 5), s = random_tensor(shape, 6),
                         dy = random_tensor(shape, 7);
            AddNorm::Cache cache;
            add_norm.after(x, s, &cache);
            const AddNorm::Gradients d = add_norm.after_backward(dy, cache);
            const auto forward = [&] {
                AddNorm::Cache unused;  // the same step: each forward drops the same elements
                return add_norm.after(x, s, &unused);
            };
            CHECK(check_gradient(forward, x, d.dx, dy).relative < 1e-6);
            CHECK(check_gradient(forward, s, d.dsublayer, dy).relative < 1e-6);
            for (const NamedParameter& q : parameters_of(add_norm)) {
                INFO(q.name);
                CHECK(
                    check_gradient(forward, q.parameter->value, q.parameter->grad(), dy).relative <
                    1e-6);
            }
        }
    }
}
