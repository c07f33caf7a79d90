// Dropout and positions on the device, against the processor.
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/gradcheck.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("on the device dropout keeps the same elements, and scales them to the same bits",
          "[cuda]") {
    for (Index n : {0, 1, 3, 31, 33, 127, 128, 129, 257, 1023, 5000})
        for (double p : {0.1, 0.5}) {
            CAPTURE(n, p);
            const auto [a, b] = on_both([&] {
                Random random(0x123456789abcdefu);  // both words of the key
                const Dropout other(static_cast<Real>(p), random),
                    dropout(static_cast<Real>(p), random);  // stream 1
                random.next_step();
                const Tensor x = random_tensor({n}, 2), dy = random_tensor({n}, 3);
                Dropout::Cache cache;
                const Tensor y = dropout.forward(x, &cache);
                return std::tuple(cache.kept, y, dropout.backward(dy, cache));
            });
            REQUIRE(same_bits(std::get<0>(a), std::get<0>(b)));
            REQUIRE(same_bits(std::get<1>(a), std::get<1>(b)));
            REQUIRE(same_bits(std::get<2>(a), std::get<2>(b)));
        }
}

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

TEST_CASE("on the device dropout with a mask of its own multiplies by it", "[cuda]") {
    const OnDevice device;
    Random random(1);
    const Dropout dropout(Real(0.5), random);
    Dropout::Cache cache;
    cache.kept = Mask({5}, {1, 0, 1, 1, 0});
    REQUIRE(same_bits(dropout.backward(Tensor({5}, {1, 2, 3, -4, -5}), cache),
                      Tensor({5}, {2, 0, 6, -8, -Real(0)})));
}

TEST_CASE("on the device positions and a learned table's gradient have the same bits", "[cuda]") {
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{3, 31, 33}, Shape{2, 0, 6}, Shape{0, 4, 6},
                               Shape{7, 33, 8}, Shape{2, 5, 257}})
        for (Positions kind : {Positions::sinusoid, Positions::learned})
            for (Index first : {0, 3}) {
                CAPTURE(to_string(shape), static_cast<int>(kind), first);
                const auto [a, b] = on_both([&] {
                    Random random(5);
                    PositionalEncoding positions(
                        shape[2], {.kind = kind, .max_len = 40, .dropout = Real(0.2)}, random);
                    PositionalEncoding::Cache cache;
                    const Tensor y = positions.forward(random_tensor(shape, 2), &cache, first);
                    const Tensor dx = positions.backward(random_tensor(shape, 3), cache);
                    positions.backward(random_tensor(shape, 4), cache);
                    return std::tuple(y, dx, positions.table.grad(),
                                      positions.forward(random_tensor(shape, 2), nullptr, first));
                });
                REQUIRE(same_bits(std::get<0>(a), std::get<0>(b)));
                REQUIRE(same_bits(std::get<1>(a), std::get<1>(b)));
                REQUIRE(same_bits(std::get<2>(a), std::get<2>(b)));
                REQUIRE(same_bits(std::get<3>(a), std::get<3>(b)));
            }
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

TEST_CASE("on the device gradients of positions with dropout equal central differences", "[cuda]") {
    if constexpr (in_double) {
        const OnDevice device;
        Random random(7);
        PositionalEncoding positions(
            5, {.kind = Positions::learned, .max_len = 7, .dropout = Real(0.2)}, random);
        const Tensor x = random_tensor({3, 4, 5}), dy = random_tensor({3, 4, 5}, 10);
        PositionalEncoding::Cache cache, other;
        positions.forward(x, &cache, 2);
        const Tensor dx = positions.backward(dy, cache);
        const auto forward = [&] { return positions.forward(x, &other, 2); };
        REQUIRE(check_gradient(forward, x, dx, dy).relative < 1e-6);
        REQUIRE(
            check_gradient(forward, positions.table.value, positions.table.grad(), dy).relative <
            1e-6);
    }
}

TEST_CASE("warm positions and dropout move nothing between the memories", "[cuda]") {
    const OnDevice device;
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
