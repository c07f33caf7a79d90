// Per way: grids of dropout and positions, and what they move between the two memories.
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("on the device dropout goes on where its grid ends", "[cuda]") {
    if (in_double) return;  // numbers are the same in both
    const auto [a, b] = on_both([] {
        Random random(3);
        const Dropout dropout(Real(0.1), random);
        Dropout::Cache cache;
        dropout.forward(Tensor::zeros({8192 * 1024 + 129}), &cache);
        return cache.kept;
    });
    REQUIRE(same_bits(a, b));
}

TEST_CASE("on the device more sentences than the grid has rows get their codes, too", "[cuda]") {
    const auto [a, b] = on_both([] {
        Random random(5);
        PositionalEncoding positions(2, {.kind = Positions::learned, .max_len = 1}, random);
        PositionalEncoding::Cache cache;
        const Tensor x = random_tensor({8200, 1, 2}, 2);
        const Tensor y = positions.forward(x, &cache);
        positions.backward(x, cache);
        return std::pair(y, positions.table.grad());
    });
    REQUIRE(same_bits(a.first, b.first));
    REQUIRE(same_bits(a.second, b.second));
}

TEST_CASE("warm positions and dropout move nothing between the memories", "[cuda]") {
    const ScopedWay device(Way::cuda);
    for (Positions kind : {Positions::sinusoid, Positions::learned}) {
        Random random(7);
        PositionalEncoding positions(33, {.kind = kind, .max_len = 9, .dropout = Real(0.2)},
                                     random);
        const Tensor x = random_tensor({4, 9, 33}, 2), dy = random_tensor({4, 9, 33}, 3);
        Transfers before;
        for (int step : {1, 2}) {
            if (step == 2) before = transfers();
            PositionalEncoding::Cache cache;
            positions.forward(x, &cache);
            positions.backward(dy, cache);
            random.next_step();
        }
        REQUIRE(transfers().to_host == before.to_host);
        REQUIRE(transfers().to_device == before.to_device);
    }
}

TEST_CASE("backward of positions and dropout follows the way of its cache", "[cuda]") {
    Random random(7);
    PositionalEncoding positions(
        33, {.kind = Positions::learned, .max_len = 9, .dropout = Real(0.2)}, random);
    const Tensor x = random_tensor({4, 9, 33}, 2), dy = random_tensor({4, 9, 33}, 3);
    require_backward_stays(
        [&] {
            PositionalEncoding::Cache cache;
            positions.forward(x, &cache);
            return cache;
        },
        [&](const PositionalEncoding::Cache& cache) { positions.backward(dy, cache); });
}
