// Per real: products with few rows.
#include "lib/fast/skinny_matmul.hpp"

#include <algorithm>

#include "tests/products.hpp"

using namespace abh;

TEST_CASE("a product with few rows is that of many", "[fast]") {
    Draw draw;
    for (bool transpose_b : {false, true})
        for (Index m : {1, 2, 3, 4, 5, 16, 17, 33, 40, 64})
            for (const auto& size :
                 {std::pair<Index, Index>{128, 128}, {131, 203}, {300, 70}, {7, 4099}, {4099, 7}})
                for_threads([&](int) {
                    const auto [k, n] = size;
                    const MatmulOptions o{.transpose_b = transpose_b, .scale = Real(-0.5)};
                    const auto [a, b] = operands(draw, {}, m, k, n, o);
                    const Tensor start = draw({m, n});
                    // in a batch of two the general code does the work
                    Tensor twice_a({2, m, k}), twice_b({2, b.dim(0), b.dim(1)});
                    for (Index i = 0; i < 2; ++i) {
                        std::copy_n(a.data(), a.size(), &twice_a(i, 0, 0));
                        std::copy_n(b.data(), b.size(), &twice_b(i, 0, 0));
                    }
                    Tensor expected({m, n}), sum = start.clone();
                    std::copy_n(matmul(twice_a, twice_b, o).data(), m * n, expected.data());
                    // k sums, each up to a few roots of k and rounded by half an epsilon of it up
                    // or down: the roundings add up to another root of k of them
                    const double close = (20 + static_cast<double>(k)) * eps;
                    CAPTURE(transpose_b, m, k, n);
                    REQUIRE(max_difference(matmul(a, b, o), expected) <= close);
                    add_matmul(sum, a, b, o);
                    REQUIRE(max_difference(sum, start + expected) <= close);
                });
}
