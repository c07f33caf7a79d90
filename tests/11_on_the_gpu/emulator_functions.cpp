// Per way: CUDA's functions, as the emulator has them: exchanges in a warp, dynamic shared memory,
// atomic sums, asynchronous copies.
#include "lib/cuda/kernel.cuh"
#include "tests/11_on_the_gpu/refused.hpp"
#include "tests/support.hpp"

using namespace abh;
using cuda::Global, cuda::Shared, cuda::launch;

namespace {

__global__ void dynamic_kernel(Global<Real> y, int n) {
    const auto tile = cuda::dynamic_shared<Real>();
    for (int i = static_cast<int>(threadIdx.x); i < n; i += 64) tile[i] = static_cast<Real>(i);
    __syncthreads();
    if (threadIdx.x == 0) y[0] = tile[n - 1];
}

__global__ void atomic_kernel(Global<std::int32_t> counter) {
    atomicAdd(&counter[0], 1);
}

__global__ void exchange_kernel(Global<Real> y) {
    const Real own = static_cast<Real>(threadIdx.x);
    y[threadIdx.x] = __shfl_down_sync(0xffffffffu, own, 3) + 100 * __shfl_sync(0xffffffffu, own, 7);
}

__global__ void three_axes_kernel(Global<Real> y) {
    const Index thread =
        threadIdx.x + Index{blockDim.x} * (threadIdx.y + Index{blockDim.y} * threadIdx.z);
    const Index block =
        blockIdx.x + Index{gridDim.x} * (blockIdx.y + Index{gridDim.y} * blockIdx.z);
    y[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
}

/// What a kernel that copies asynchronously forgets.
enum class Forgets { nothing, commit, wait, last_group, barrier };

__global__ void async_kernel(Global<Real> y, Global<const Real> x, Forgets forgets) {
    __shared__ Shared<Real, 2, 64> tile;
    const int i = static_cast<int>(threadIdx.x);
    for (int half = 0; half < 2; ++half) {
        __pipeline_memcpy_async(&tile[half][i], x + (64 * half + i), sizeof(Real));
        if (forgets != Forgets::commit) __pipeline_commit();
    }
    for (int half = 0; half < 2; ++half) {
        const int may_go_on = forgets == Forgets::last_group ? 1 : 1 - half;
        if (forgets != Forgets::wait) __pipeline_wait_prior(may_go_on);
        if (forgets != Forgets::barrier) __syncthreads();
        y[64 * half + i] = tile[half][63 - i];
    }
}

__global__ void async_bytes_kernel(Global<Real> y, Index first, int bytes) {
    __shared__ Shared<Real, 64> tile;
    __pipeline_memcpy_async(&tile[first], y + first, static_cast<std::size_t>(bytes));
}

}  // namespace

TEST_CASE("the emulator has CUDA's functions", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y = Tensor::zeros({64});
    launch("exchange", exchange_kernel, one_block, y.on_device());
    CHECK(y(0) == 3 + 700);
    CHECK(y(30) == 30 + 700);
    CHECK(y(32) == 35 + 3900);

    launch("dynamic", dynamic_kernel, cuda::Grid{dim3(1), dim3(64), 300 * sizeof(Real)},
           y.on_device(), 300);
    CHECK(y(0) == 299);
    CHECK_THROWS_WITH(launch("dynamic", dynamic_kernel,
                             cuda::Grid{dim3(1), dim3(64), 299 * sizeof(Real)}, y.on_device(), 300),
                      Contains("element 299 of shared memory that has 299"));

    Ids counter({1}, {5});
    launch("atomic", atomic_kernel, cuda::Grid{dim3(3), dim3(50)}, counter.on_device());
    CHECK(counter(0) == 155);

    Tensor all = Tensor::zeros({2 * 3 * 2 * 4 * 5 * 3});
    launch("axes", three_axes_kernel, cuda::Grid{dim3(2, 3, 2), dim3(4, 5, 3)}, all.on_device());
    for (Real v : all.values()) REQUIRE(v == 1);
}

TEST_CASE("an asynchronous copy has arrived only after the wait", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({128});
    Tensor y({128});
    const auto said = [&](Forgets forgets) {
        return refused("async", async_kernel, one_block, y.on_device(), x.on_device(), forgets);
    };
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        emulator::set_seed(seed);
        CHECK(said(Forgets::nothing) == "nothing");
        CHECK(y(3) == x(60));
        CHECK(y(64) == x(127));
        for (const Forgets forgets : {Forgets::commit, Forgets::wait, Forgets::last_group})
            CHECK_THAT(said(forgets), Contains("of shared memory, which nothing wrote") &&
                                          Contains("emulator_functions.cpp"));
        CHECK(said(Forgets::barrier) != "nothing");  // not written yet, or a race
    }
    Tensor whole = Tensor::zeros({64});
    const auto copy = [&](Index first, int bytes) {
        return refused("bytes", async_bytes_kernel, cuda::Grid{dim3(1), dim3(1)}, whole.on_device(),
                       first, bytes);
    };
    CHECK(copy(4, 16) == "nothing");
    CHECK_THAT(copy(1, 16), Contains("no multiple of 16"));
    CHECK_THAT(copy(0, 12), Contains("12 bytes at once, expected 4, 8 or 16"));
}
