// Per real and way: matrix products and their gradients.
#ifdef ABH_ONEDNN
#include <omp.h>
#endif

#include <algorithm>
#include <cmath>

#include "lib/gradcheck.hpp"
#include "lib/matmul.hpp"
#include "tests/products.hpp"
#include "tests/ways.hpp"

using namespace abh;

namespace {

const std::vector<Index> batches[] = {{}, {3}, {2, 2}, {0}};

/// Requires of `matmul` and of `add_matmul` what three loops give.
void check_product(Draw& draw, const std::vector<Index>& batch, Index m, Index k, Index n,
                   const MatmulOptions& o) {
    const auto [a, b] = operands(draw, batch, m, k, n, o);
    const Tensor expected = naive_matmul(a, b, o), before = draw(expected.shape());
    // k sums, each up to a few roots of k and rounded by half an epsilon of it up or down: the
    // roundings add up to another root of k of them
    const double scale = std::max(1.0, std::abs(static_cast<double>(o.scale))),
                 close = scale * (20 + 2 * static_cast<double>(k)) * eps;
    CAPTURE(to_string(a.shape()), to_string(b.shape()), o.transpose_a, o.transpose_b);
    REQUIRE(max_difference(matmul(a, b, o), expected) <= close);
    Tensor sum = before.clone();
    add_matmul(sum, a, b, o);
    REQUIRE(max_difference(sum, before + expected) <= close);
}

}  // namespace

TEST_CASE("products equal three loops in all four forms, batched, for odd sizes and for none") {
    Draw draw;
    const Index sizes[][3] = {{1, 1, 1}, {1, 7, 1},    {1, 5, 9},     {9, 5, 1},    {3, 5, 2},
                              {7, 1, 9}, {33, 65, 17}, {131, 70, 67}, {2, 3, 1030}, {519, 3, 5},
                              {0, 3, 2}, {3, 0, 2},    {5, 3, 0},     {1, 131, 7},  {3, 129, 131}};
    for (const auto& [m, k, n] : sizes)
        for (const std::vector<Index>& batch : batches)
            for (const MatmulOptions& o : all_forms) check_product(draw, batch, m, k, n, o);
}

TEST_CASE("shapes that do not fit are named with their transposes") {
    const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape); };
    REQUIRE_THROWS_WITH(matmul(zeros({2, 3}), zeros({2, 3})),
                        "matmul: [2, 3] times [2, 3]: inner sizes differ");
    REQUIRE_THROWS_WITH(matmul(zeros({3, 2}), zeros({2, 4}), {true, true}),
                        "matmul: [3, 2]^T times [2, 4]^T: inner sizes differ");
    REQUIRE_THROWS_WITH(matmul(zeros({2, 3}), zeros({5, 3, 2})), Contains("ranks differ"));
    REQUIRE_THROWS_WITH(matmul(zeros({3}), zeros({3})), Contains("below 2"));
    REQUIRE_THROWS_WITH(matmul(zeros({4, 2, 3}), zeros({5, 3, 2})),
                        Contains("leading axes differ"));
    Tensor c = zeros({3, 2});
    REQUIRE_THROWS_WITH(add_matmul(c, zeros({2, 4}), zeros({4, 2})),
                        "matmul: result has shape [3, 2], expected [2, 2]");
    REQUIRE_THROWS_WITH(matmul_backward(zeros({2, 3}), zeros({2, 3}), zeros({3, 2})),
                        "matmul_backward: dc has shape [2, 3], expected [2, 2]");
}

TEST_CASE("the gradients of a product equal central differences in all four forms") {
    if constexpr (in_double) {
        Draw draw;
        for (const std::vector<Index>& batch : batches)
            for (const MatmulOptions& o : all_forms) {
                auto [a, b] = operands(draw, batch, 3, 5, 7, o);
                const auto forward = [&, left = a, right = b] { return matmul(left, right, o); };
                const Tensor dc = draw(forward().shape());
                const MatmulGradients g = matmul_backward(dc, a, b, o);
                CAPTURE(to_string(a.shape()), to_string(b.shape()), o.transpose_a, o.transpose_b);
                REQUIRE(check_gradient(forward, a, g.da, dc).relative < 1e-6);
                REQUIRE(check_gradient(forward, b, g.db, dc).relative < 1e-6);
            }
    }
}

TEST_CASE("a transposed factor with long rows is multiplied whole", "[fast]") {
    Draw draw;
    for (const auto& [m, k] : {std::pair<Index, Index>{1024, 193}, {1100, 400}, {1023, 200}})
        for_threads([&, rows = m, inner = k](int) {
            check_product(draw, {}, rows, inner, 20, {.transpose_a = true, .scale = 2});
        });
}

TEST_CASE("a product with few rows is that of many", "[fast]") {
    Draw draw;
    for (const bool transpose_b : {false, true})
        for (const Index m : {1, 2, 3, 4, 5, 16, 17, 33, 40, 64})
            for (const auto& [k, n] :
                 {std::pair<Index, Index>{128, 128}, {131, 203}, {300, 70}, {7, 4099}, {4099, 7}})
                for_threads([&, inner = k, columns = n](int) {
                    check_product(draw, {}, m, inner, columns,
                                  {.transpose_b = transpose_b, .scale = Real(-0.5)});
                });
}

TEST_CASE("a small product has the same bits for any number of threads", "[fast]") {
    Draw draw;
    for (const MatmulOptions& o : all_forms) {
        // cut by its size alone; a cut in two would leave a single row or column, a
        // product of its own kind
        const Operands square = operands(draw, {3}, 129, 30, 65, o);
        const Operands wide = operands(draw, {}, 5, 40, 1057, o);
        const Operands few = operands(draw, {}, 3, 130, 1057, {.transpose_b = true});
        same_for_threads([&] {
            return std::vector{matmul(square, o), matmul(wide, o),
                               matmul(few, {.transpose_b = true})};
        });
    }
}

TEST_CASE("a large product is the same for any number of threads, and bit by bit for each",
          "[fast]") {
    Draw draw;
    for (const MatmulOptions& o : all_forms) {
        const Operands square = operands(draw, {2}, 321, 70, 67, o);
        const Operands wide = operands(draw, {}, 5, 130, 1057, o);
        const Operands tall = operands(draw, {}, 1057, 70, 65, o);
        same_for_threads([&] { return std::vector{matmul(square, o), matmul(tall, o)}; }, 70);
        same_for_threads([&] { return std::vector{matmul(wide, o)}; }, 130);
    }
}

#ifdef ABH_ONEDNN
TEST_CASE("the library starts no threads of its own", "[fast]") {
    Draw draw;
    const auto [a, b] = operands(draw, {}, 321, 70, 67, {});
    for (int n_threads : {2, 1}) {
        omp_set_num_threads(3);
        set_threads(n_threads);
        matmul(a, b);
    }
    REQUIRE(omp_get_max_threads() == (products_by_library() ? 1 : 3));
}
#endif
