// Per real and way: every way of chapter 15's operations computes what its plain way does.
#include "tests/ways.hpp"

#include "chapters/15_language_model/language_model.hpp"
#include "tests/gradients.hpp"
#include "tests/layers.hpp"

using namespace abh;

namespace {

/// Results and gradients of all operations, for rows of three heads of width `d`.
std::vector<Tensor> run(Index rows, Index d) {
    const Shape narrow{1, rows, d}, wide{1, rows, 3 * d};
    const Tensor x = random_tensor(narrow, 3), g = random_tensor(wide, 4),
                 u = random_tensor(wide, 5), dy = random_tensor(wide, 6);
    RmsNorm norm(3 * d);
    shake(norm);
    RmsNorm::Cache of_norm;
    SwishGateCache of_gate;
    const Tensor normed = norm.forward(g, &of_norm), gated = swish_gate(g, u, &of_gate);
    const Tensor dx = norm.backward(dy, of_norm);
    const auto [dg, du] = swish_gate_backward(dy, of_gate);
    return {normed, dx, norm.gamma.grad(),    gated,
            dg,     du, share_heads(x, 1, 3), share_heads_backward(dy, 1, 3)};
}

std::vector<Tensor> turned(const Shape& shape, const Packing& packing = {}) {
    const Tensor x = random_tensor(shape, 3);
    std::vector<Tensor> found;
    for (const Pairing pairing : {Pairing::neighbors, Pairing::halves}) {
        const RotaryOptions options{.base = 1000, .pairing = pairing};
        found.push_back(rotate(x, 3, options, 4000, packing));
        found.push_back(rotate_backward(x, 3, options, 4000, packing));
    }
    return found;
}

const Packing three_sentences{Ids({4}, {0, 40, 41, 70}), 40};

}  // namespace

TEST_CASE("today's operations are the same in every way") {
    for (const Index rows : {0, 1, 17, 130})
        for (const Index d : {1, 4, 33}) {
            CAPTURE(rows, d);
            same_in_every_way([&] { return run(rows, d); });
        }
}

TEST_CASE("pairs turn by the same angles in every way") {
    for (const Index d : {2, 6, 64})
        for (const Shape& shape : {Shape{0, 3, 3 * d}, Shape{2, 0, 3 * d}, Shape{3, 35, 3 * d}})
            same_in_every_way([&] { return turned(shape); }, 4 * way_bound);
    same_in_every_way([] { return turned({1, 70, 24}, three_sentences); }, 4 * way_bound);
}

TEST_CASE("today's operations give the same bits for any number of threads", "[fast]") {
    same_for_threads([] { return run(203, 33); });
    same_for_threads([] { return turned({3, 67, 30}); });
    same_for_threads([] { return turned({1, 70, 24}, three_sentences); });
}

TEST_CASE("shapes that do not fit are refused in every way") {
    CHECK_THROWS_WITH(rotate(Tensor({1, 3, 8}), 2, {}, 0, three_sentences),
                      Contains("[1, 3, 8]") && Contains("70 rows"));
    CHECK_THROWS_WITH(swish_gate(Tensor({2, 3}), Tensor({3, 2})), Contains("swish gate"));
}
