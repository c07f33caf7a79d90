// Per real: products in a core's cache.
#include <vector>

#include "lib/fast/small_matmul.hpp"
#include "tests/support.hpp"

using namespace abh;

namespace {

/// Whole numbers from -4 to 4: sums of a few hundred products of two are exact in any order.
std::vector<Real> whole_numbers(Index n, std::uint64_t seed) {
    Random random(seed);
    const Ids ids = random_ids({n}, -4, 5, random.stream());
    return {ids.values().begin(), ids.values().end()};
}

}  // namespace

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
                            const Index width_a = (transposed ? m : k) + gap, width = n + gap;
                            const std::vector<Real> a = whole_numbers((m + k) * (m + k + gap), 1);
                            const std::vector<Real> b = whole_numbers((k + 1) * width, 2);
                            const std::vector<Real> before = whole_numbers((m + 1) * width, 3);
                            std::vector<Real> c = before;
                            const Strided from = Strided::of(a.data(), width_a, transposed);
                            small_matmul({c.data(), width, from, Strided::of(b.data(), width), m, n,
                                          k, 1, add});
                            std::vector<Real> expected = before;
                            for (Index i = 0; i < m; ++i)
                                for (Index j = 0; j < n; ++j) {
                                    Real sum = add ? before[static_cast<std::size_t>(i * width + j)]
                                                   : Real(0);
                                    for (Index p = 0; p < k; ++p)
                                        sum +=
                                            a[static_cast<std::size_t>(
                                                transposed ? p * width_a + i : i * width_a + p)] *
                                            b[static_cast<std::size_t>(p * width + j)];
                                    expected[static_cast<std::size_t>(i * width + j)] = sum;
                                }
                            CAPTURE(m, n, k, transposed, add, gap);
                            REQUIRE(c == expected);
                        }
}
