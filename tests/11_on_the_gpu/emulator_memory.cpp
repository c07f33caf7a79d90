// Per way: what the emulator finds where a kernel reads and writes: outside of arrays, launches and
// warps, not aligned, and what nothing wrote.
#include "lib/cuda/kernel.cuh"
#include "tests/11_on_the_gpu/refused.hpp"
#include "tests/support.hpp"

using namespace abh;
using cuda::Global, cuda::Shared, cuda::launch;

namespace {

__global__ void beyond_warp_kernel(Global<Real> y) {  // the last but one step of a sum goes too far
    if (threadIdx.x < 32) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, Real(1), 32);
}

__global__ void first_alone_kernel(Global<Real> y) {
    if (threadIdx.x == 0) y[0] = 1;
}

__global__ void double_kernel(Global<Real> y, Global<const Real> x) {
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

__global__ void negative_kernel(Global<Real> y) {
    y[static_cast<Index>(threadIdx.x) - 1] = 1;
}

__global__ void over_shared_kernel(Global<Real> y) {
    __shared__ Shared<Real, 2, 3> tile;
    tile[1][threadIdx.x] = 1;
    y[threadIdx.x] = tile[1][threadIdx.x];
}

__global__ void __launch_bounds__(64) bounded_kernel(Global<Real> y) {
    cuda::threads_at_most(64);
    if (threadIdx.x == 0) y[0] = 1;
}
constexpr int bounded_line = __LINE__ - 3;

/// Two numbers that are moved at once.
struct alignas(2 * sizeof(Real)) Pair {
    Real first, second;
};

__global__ void pair_kernel(Global<Pair> y) {
    y[threadIdx.x] = Pair{1, 2};
}

int blocks_begun = 0;
__global__ void left_behind_kernel(Global<Real> y) {  // only the first block to run writes
    __shared__ Shared<Real, 1> left;
    if (blocks_begun++ == 0) left[0] = 1;
    y[blockIdx.x] = left[0];
}

}  // namespace

TEST_CASE("a copy of what nothing wrote is no more written", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64}), z({64});
    launch("first", first_alone_kernel, one_block, y.on_device());
    const Tensor copy = y.clone();
    CHECK_THAT(refused("double", double_kernel, one_block, z.on_device(), copy.on_device()),
               Contains("which nothing wrote"));
}

TEST_CASE("the emulator finds what lies outside", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor lanes({64});
    CHECK_THAT(refused("beyond", beyond_warp_kernel, one_block, lanes.on_device()),
               Contains("asks lane"));
    Tensor y({64});
    CHECK_THAT(refused("before", negative_kernel, one_block, y.on_device()),
               Contains("before: thread 0 of block 0 writes element -1 of device memory"));
    CHECK_THAT(refused("over", over_shared_kernel, one_block, y.on_device()),
               Contains("of a shared array of 3"));
    CHECK_THAT(refused("empty", first_alone_kernel, one_block, static_cast<Real*>(nullptr)),
               Contains("where there is no tensor"));
    Real* gone = nullptr;
    {
        Tensor t({64});
        gone = t.on_device();
    }
    CHECK_THAT(refused("gone", first_alone_kernel, one_block, gone),
               Contains("address is not in device memory"));
    for (const auto& [grid, message] :
         {std::pair{cuda::Grid{dim3(1), dim3(2048)}, "a block of (2048, 1, 1) threads"},
          {cuda::Grid{dim3(1), dim3(1, 1, 65)}, "z at most 64"},
          {cuda::Grid{dim3(0x80000000u), dim3(32)}, "2147483647"},
          {cuda::Grid{dim3(1), dim3(64), (99 << 10) + 1},
           "101377 bytes of shared memory, at most 101376"}})
        CHECK_THROWS_WITH(launch("wrong", first_alone_kernel, grid, y.on_device()),
                          Contains(message));
}

TEST_CASE("the emulator refuses a block with more threads than its kernel promises", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({1});
    launch("bounded", bounded_kernel, one_block, y.on_device());
    const cuda::Grid tall{dim3(1), dim3(32, 3)};
    CHECK_THAT(refused("bounded", bounded_kernel, tall, y.on_device()),
               Contains("is one of 96 in its block, which promises at most 64") &&
                   Contains(fmt::format(":{}", bounded_line)));
}

TEST_CASE("the emulator finds accesses that are not aligned", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64});
    const cuda::Grid grid{dim3(1), dim3(8)};
    const auto pairs = [&](Index first) {
        return refused("pair", pair_kernel, grid, reinterpret_cast<Pair*>(y.on_device() + first));
    };
    CHECK(pairs(2) == "nothing");
    CHECK_THAT(pairs(3), Contains("of device memory, which is no multiple of") &&
                             Contains("emulator_memory.cpp"));
}

TEST_CASE("a block finds nothing that another has left in shared memory", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({2});
    const auto said = [&](unsigned blocks) {
        blocks_begun = 0;
        return refused("left", left_behind_kernel, cuda::Grid{dim3(blocks), dim3(1)},
                       y.on_device());
    };
    CHECK(said(1) == "nothing");
    CHECK_THAT(said(2), Contains("of shared memory, which nothing wrote"));
}
