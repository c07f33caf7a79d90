// Per way: what depends on the order of threads: races, in a block and between blocks, which the
// emulator finds in any order; and the book's kernels, which give the same bits in each.
#include "lib/cuda/kernel.cuh"
#include "lib/linear.hpp"
#include "tests/11_on_the_gpu/refused.hpp"
#include "tests/gradients.hpp"
#include "tests/transformers.hpp"

using namespace abh;
using cuda::Global, cuda::Shared, cuda::launch;

namespace {

__global__ void late_kernel(Global<Real> y) {  // the barrier has moved behind the reading
    __shared__ Shared<Real, 64> tile;
    tile[threadIdx.x] = static_cast<Real>(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
    tile[threadIdx.x] = 0;
}

__global__ void two_writers_kernel(Global<Real> y) {
    __shared__ Shared<Real, 2> both;
    both[threadIdx.x % 2] = 1;
    __syncthreads();
    y[threadIdx.x] = both[0];
}

__global__ void of_warp_kernel(Global<Real> y, bool wait) {  // neighbors of a warp exchange values
    __shared__ Shared<Real, 64> tile;
    tile[threadIdx.x] = static_cast<Real>(threadIdx.x);
    if (wait) __syncwarp();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void of_neighbors_kernel(Global<Real> y) {  // an exchange orders no memory
    __shared__ Shared<Real, 64> tile;
    tile[threadIdx.x] = 1;
    const Real v = __shfl_xor_sync(0xffffffffu, Real(1), 1);
    y[threadIdx.x] = v + tile[threadIdx.x ^ 1];
}

__global__ void one_place_kernel(Global<Real> y) {
    if (threadIdx.x == 0) y[0] = 1;
}

__global__ void last_alone_kernel(Global<Real> y) {
    if (blockIdx.x + 1 == gridDim.x) y[0] = 1;
}

constexpr int shift_line = __LINE__ + 2;
__global__ void shift_kernel(Global<Real> y) {  // the next block may have written already
    const Real next = y[blockIdx.x + 1];
    y[blockIdx.x] = next;
}

__global__ void own_byte_kernel(Global<std::uint8_t> y) {
    y[blockIdx.x] = 1;
    y[blockIdx.x] = static_cast<std::uint8_t>(y[blockIdx.x] + 1);
}

__global__ void count_kernel(Global<std::int32_t> counter, bool read) {
    atomicAdd(&counter[0], 1);
    if (read) counter[1 + blockIdx.x] = counter[0];
}

}  // namespace

TEST_CASE("the emulator finds races in shared memory whatever the order of threads", "[cuda]") {
    const ScopedWay device(Way::cuda);
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
        emulator::set_seed(seed);
        Tensor y({64});
        CHECK_THAT(refused("late", late_kernel, one_block, y.on_device()),
                   Contains("late: thread") &&
                       (Contains("may still read") || Contains("no barrier in between")));
        CHECK_THAT(refused("two", two_writers_kernel, one_block, y.on_device()),
                   Contains("writes too"));
        CHECK_THAT(refused("warp", of_warp_kernel, one_block, y.on_device(), false),
                   Contains("warp: thread"));
        CHECK(refused("warp", of_warp_kernel, one_block, y.on_device(), true) == "nothing");
        CHECK(y(5) == 4);
        CHECK_THAT(refused("values", of_neighbors_kernel, one_block, y.on_device()),
                   Contains("values: thread") && Contains("no barrier in between"));
    }
}

TEST_CASE("the emulator finds races between blocks", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const cuda::Grid blocks{dim3(4), dim3(1)}, two{dim3(2), dim3(1)};
    Tensor y = Tensor::zeros({64});
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // either of the two begins
        emulator::set_seed(seed);
        CHECK_THAT(refused("one", one_place_kernel, blocks, y.on_device()),
                   Contains("one: thread 0 of block") && Contains("writes what block") &&
                       Contains("in the same launch (emulator_races.cpp"));
        CHECK_THAT(refused("shift", shift_kernel, two, y.on_device()),
                   Contains("in the same launch") && Contains(fmt::format(":{}", shift_line)) &&
                       Contains(fmt::format(":{}", shift_line + 1)));
    }
    const cuda::Grid single{dim3(1), dim3(1)};
    launch("last", last_alone_kernel, blocks, y.on_device());
    Tensor z({1});
    for (int i = 1; i < 4095; ++i)  // as many launches as there are numbers for
        launch("one", one_place_kernel, single, z.on_device());
    launch("again", last_alone_kernel, single, y.on_device());  // by another block
    Mask bytes = Mask::full({4}, 0);
    launch("bytes", own_byte_kernel, blocks, bytes.on_device());  // each writes its own
    CHECK(bytes(3) == 2);
}

TEST_CASE("atomic functions of several blocks do not race, but with others they do", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const cuda::Grid blocks{dim3(4), dim3(2)};
    Ids counter = Ids::full({8}, 0);
    launch("count", count_kernel, blocks, counter.on_device(), false);
    CHECK(counter(0) == 8);
    CHECK_THAT(refused("count", count_kernel, blocks, counter.on_device(), true),
               Contains("reads what an atomic function writes at emulator_races.cpp"));
}

TEST_CASE("the device gives the same bits at each run", "[cuda]") {
    const ScopedWay device(Way::cuda);
    TransformerOptions o = paper_like(NormPlacement::post);
    o.src_words = o.tgt_words = 11;
    const auto gradients = [&](std::uint64_t order) {
        emulator::set_seed(order);
        Transformer model(o, Random(3));
        Transformer::Cache cache;
        const Tensor y = model.forward(example_src(), example_tgt(), &cache);
        model.backward(random_tensor(y.shape()), cache);
        Random random(4);
        Linear map(3, 35, true, random);  // several blocks sum its bias's gradient
        Linear::Cache rows;
        map.forward(random_tensor({300, 3}), &rows);
        map.backward(random_tensor({300, 35}), rows);
        const Tensor norm = one_number(grad_norm(parameters_of(map)));
        Adam(parameters_of(map)).step(Real(0.1));
        return with_gradients({y, norm, map.bias.grad(), map.bias.value}, model);
    };
    check_same_bits(gradients(1), gradients(2));
}
