// Per way: barriers that threads do not share; what the emulator says of a fault, and that a fault
// leaves nothing behind.
#include "chapters/11_on_the_gpu/faults.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/kernel.cuh"
#include "tests/11_on_the_gpu/refused.hpp"
#include "tests/devices.hpp"

using namespace abh;
using cuda::Global, cuda::launch;

namespace {

__global__ void two_barriers_kernel(Global<Real> y) {
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 1;
}

__global__ void part_of_warp_kernel(Global<Real> y) {
    if (threadIdx.x % 32 < 7) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, Real(1), 1);
}

}  // namespace

TEST_CASE("the emulator names kernel, line and thread of a fault", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const std::vector<std::string> messages = cuda::messages_of_faults();
    REQUIRE(messages.size() == 4);
    CHECK_THAT(messages[0],
               Contains("faulty: thread ") && Contains("shared memory") && Contains("faults.cu:"));
    CHECK_THAT(messages[1],
               Contains("thread 0 of block 0 waits for its block, but thread 6 has ended"));
    CHECK_THAT(messages[2], Contains("of block 1") && Contains("of device memory that has 70"));
    CHECK_THAT(messages[3], Contains("which nothing wrote"));
}

TEST_CASE("the emulator finds barriers that threads do not share", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64});
    CHECK_THAT(refused("two", two_barriers_kernel, one_block, y.on_device()),
               Contains("waits for its block, but thread 32 waits at emulator_faults.cpp"));
    CHECK_THAT(refused("part", part_of_warp_kernel, one_block, y.on_device()),
               Contains("waits for its warp, but some of its threads have ended"));
}

TEST_CASE("after a fault the next kernel runs as if nothing had been", "[cuda]") {
    const ScopedWay device(Way::cuda);
    for (int i = 0; i < 3; ++i) {
        Tensor y({64});
        CHECK(refused("two", two_barriers_kernel, one_block, y.on_device()) != "nothing");
        const Tensor x = random_tensor({3, 1000});
        CHECK(near(cuda::row_sums(x, cuda::Sum::tree), cuda::row_sums(x, cuda::Sum::warps), 1000));
    }
}
