// Per way: grids of dropout and positions, and what they move between the two memories.
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("the device drops the same elements where they do not come in fours", "[cuda]") {
    for (Index n : {3, 1024, 1031})
        for (Index first : {0, 1}) {
            const auto [a, b] = on_both([&, n = n, first = first] {
                Random random(3);
                const Dropout dropout(Real(0.5), random);
                Dropout::Cache cache;
                const Tensor x = random_tensor({first + n}, 1).rows(first, first + n);
                const Tensor y = dropout.forward(x, &cache);
                return std::pair(y, dropout.backward(x, cache));
            });
            REQUIRE(same_bits(a.first, b.first));
            REQUIRE(same_bits(a.second, b.second));
        }
}

TEST_CASE("on the device each sentence gets its codes, whether or not it consists of fours",
          "[cuda]") {
    for (const Shape& shape : {Shape{8200, 1, 2}, Shape{5, 3, 3}, Shape{5, 2, 6}}) {
        const auto [a, b] = on_both([&] {
            Random random(5);
            PositionalEncoding positions(shape[2],
                                         {.kind = Positions::learned, .max_len = shape[1]}, random);
            PositionalEncoding::Cache cache;
            const Tensor x = random_tensor(shape, 2);
            const Tensor y = positions.forward(x, &cache);
            positions.backward(x, cache);
            return std::pair(y, positions.table.grad());
        });
        REQUIRE(same_bits(a.first, b.first));
        REQUIRE(same_bits(a.second, b.second));
    }
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
