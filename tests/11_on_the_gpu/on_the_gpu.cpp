// Per way: kernels on the device, real or emulated.
#include "chapters/06_feed_forward/relu.hpp"
#include "chapters/11_on_the_gpu/ladder.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/gradient.cuh"
#include "lib/cuda/runtime.hpp"
#include "tests/devices.hpp"

using namespace abh;

TEST_CASE("all ways to do a thing do the same thing", "[cuda]") {
    const ScopedWay device(Way::cuda);
    using namespace cuda;
    for (const Index n : {1, 2, 31, 33, 257}) {
        const Tensor x = random_tensor({3, n});
        const ScopedWay processor(Way::fast);
        const auto on_device = [](const auto& f) {
            const ScopedWay there(Way::cuda);
            return f();
        };
        for (int together : {1, 3, 32})
            CHECK(same_bits(on_device([&] { return copy(x, together); }), x));
        for (Turn turn : {Turn::on_the_way, Turn::tile, Turn::padded_tile})
            CHECK(
                same_bits(on_device([&] { return cuda::transpose(x, turn); }), abh::transpose(x)));
        Tensor sums = matmul(x, Tensor::full({n, 1}, 1)).reshape({3});
        for (Sum way : {Sum::tree, Sum::warps})
            CHECK(near(on_device([&] { return row_sums(x, way); }), sums, static_cast<double>(n)));
        const Tensor y = on_device([&] { return softmax(x, Passes::three); });
        CHECK(near(on_device([&] { return softmax(x, Passes::two); }), y, 8));
        CHECK(near(row_sums(y, Sum::tree), Tensor::full({3}, 1), 8 + static_cast<double>(n)));
    }
}

TEST_CASE("column sums of a base model's rows occupy an H200", "[cuda]") {
    CHECK(cuda::parts_of_columns(4096, 512) * ceil_div(512, 32) >= 132);
    CHECK(cuda::parts_of_columns(64, 512) == 1);  // few rows are summed at once
}

TEST_CASE("every rung computes the product of whole tiles, and refuses others", "[cuda]") {
    const auto on_device = [](const Tensor& a, const Tensor& b, cuda::Rung rung) {
        const ScopedWay device(Way::cuda);
        return cuda::product(a, b, rung);
    };
    const ScopedWay processor(Way::plain);
    for (const auto& [m, n, k] : {std::array{128, 128, 16}, {256, 128, 32}, {128, 256, 48}}) {
        const Tensor a = random_integers({m, k}), b = random_integers({k, n});
        const Tensor x = random_tensor({m, k}), y = random_tensor({k, n});
        for (const auto& [rung, key, name] : cuda::rungs) {
            INFO(name << ", " << m << " x " << n << " x " << k);
            CHECK(same_bits(on_device(a, b, rung), matmul(a, b)));  // TF32 holds small integers
            if (rung != cuda::Rung::tensor_cores)
                CHECK(near(on_device(x, y, rung), matmul(x, y), k));
        }
    }
    for (const auto& [rung, key, name] : cuda::rungs) {
        const Tensor tile({128, 16}), more({136, 16}), longer({128, 12});
        const auto refused = Contains("expected m and n in tiles of");
        CHECK_THROWS_WITH(on_device(more, Tensor({16, 128}), rung), refused);
        CHECK_THROWS_WITH(on_device(tile, Tensor({16, 136}), rung), refused);
        if (rung >= cuda::Rung::shared)
            CHECK_THROWS_WITH(on_device(longer, Tensor({12, 128}), rung), refused);
    }
}

TEST_CASE("tensor cores multiply the nearest numbers that TF32 has", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const auto eight_times = [](double x) {
        const Tensor a = Tensor::full({128, 8}, static_cast<Real>(x)),
                     b = Tensor::full({8, 128}, 1);
        return cuda::product(a, b, cuda::Rung::tensor_cores)(127, 127);
    };
    CHECK(eight_times(1 + 0x1p-11) == 8);  // of two, the even one
    CHECK(eight_times(1 + 0x3p-11) == static_cast<Real>(8 * (1 + 0x1p-9)));
}

TEST_CASE("tensors follow to where they are used, and are sent once", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor a({2, 2}, {1, 2, 3, 4});  // written by the processor
    const Transfers before = transfers();
    const Tensor b = a + a, c = b + a;
    CHECK(transfers().to_device - before.to_device == 1);
    CHECK(transfers().bytes_to_device - before.bytes_to_device ==
          4 * static_cast<Index>(sizeof(Real)));
    CHECK(transfers().to_host == before.to_host);
    CHECK(c(1, 0) == 9);
    CHECK(c(1, 1) == 12);  // fetched once
    CHECK(transfers().to_host - before.to_host == 1);

    Tensor d = c.clone();
    d(0, 0) = 100;  // the processor writes, so the device's copy is old
    CHECK((d + c)(0, 0) == 103);
    CHECK(c(0, 0) == 3);
}

TEST_CASE("what the device fills never travels", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Transfers before = transfers();
    Tensor x = Tensor::full({100}, 2);
    x += Tensor::zeros({100});
    x *= 3;
    CHECK(transfers().to_device == before.to_device);
    CHECK(x(99) == 6);
    CHECK(Ids::full({3}, 7)(2) == 7);
    CHECK(Mask::full({3}, 1)(2) == 1);
}
