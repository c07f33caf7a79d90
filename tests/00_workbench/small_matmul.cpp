// Per real: products in a core's cache.
#include "lib/fast/small_matmul.hpp"

#include "tests/products.hpp"

using namespace abh;

TEST_CASE("whole_lanes rounds up", "[fast]") {
    CHECK(whole_lanes(0) == 0);
    CHECK(whole_lanes(1) == lanes);
    CHECK(whole_lanes(lanes) == lanes);
    CHECK(whole_lanes(lanes + 1) == 2 * lanes);
}

TEST_CASE("a small product is three loops, and touches nothing beside it", "[fast]") {
    for (Index m : {0, 1, 5, 6, 7, 12, 23})
        for (Index n : {lanes, 2 * lanes, 3 * lanes, 5 * lanes})
            for (Index k : {0, 1, 3, 67})
                for (bool transposed : {false, true})
                    for (bool add : {false, true})
                        for (Index gap : {0, 5}) {  // between the rows of a, b and c
                            const Whole a(m, k, transposed, 1, gap), b(k, n, false, 2, gap);
                            const Tensor before = Tensor::full({m + 1, n + gap}, 3);
                            Tensor c = before.clone();
                            small_matmul({c.data(), n + gap, a.matrix, b.matrix, m, n, k, 1, add});
                            CAPTURE(m, n, k, transposed, add, gap);
                            REQUIRE(
                                same_bits(c, product(a.matrix, b.matrix, before, m, n, k, 1, add)));
                        }
}
