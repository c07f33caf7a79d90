// Per way: kernels that only the emulator runs: what it finds, what it counts, and what CUDA's
// functions do.
#include "chapters/11_on_the_gpu/faults.cuh"
#include "chapters/11_on_the_gpu/ladder.cuh"
#include "chapters/11_on_the_gpu/variants.cuh"
#include "lib/cuda/counts.hpp"
#include "lib/cuda/kernel.cuh"
#include "tests/devices.hpp"
#include "tests/gradients.hpp"
#include "tests/tensor_cores.cu"
#include "tests/transformers.hpp"

using namespace abh;
using cuda::Global, cuda::Shared, cuda::launch;

namespace {

/// What a launch that must fail says.
template <class F>
std::string refused(const F& f) {
    const ScopedWay device(Way::cuda);
    try {
        f();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing";
}

const cuda::Grid one_block{dim3(1), dim3(64)};

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

__global__ void beyond_warp_kernel(Global<Real> y) {  // the last but one step of a sum goes too far
    if (threadIdx.x < 32) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, Real(1), 32);
}

__global__ void first_alone_kernel(Global<Real> y) {
    if (threadIdx.x == 0) y[0] = 1;
}

__global__ void double_kernel(Global<Real> y, Global<const Real> x) {
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

__global__ void ends_in_a_fault_kernel(Global<Real> y, Global<const Real> x, Index n) {
    y[threadIdx.x] = x[threadIdx.x < n ? threadIdx.x : 64];
}

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

__global__ void negative_kernel(Global<Real> y) {
    y[static_cast<Index>(threadIdx.x) - 1] = 1;
}

__global__ void over_shared_kernel(Global<Real> y) {
    __shared__ Shared<Real, 2, 3> tile;
    tile[1][threadIdx.x] = 1;
    y[threadIdx.x] = tile[1][threadIdx.x];
}

}  // namespace

TEST_CASE("the emulator names kernel, line and thread of a fault", "[cuda]") {
    const ScopedWay device(Way::cuda);
    using cuda::Fault;
    const std::string first = cuda::message_of(Fault::missing_barrier);
    CHECK_THAT(first,
               Contains("faulty: thread ") && Contains("shared memory") && Contains("faults.cu:"));
    CHECK_THAT(cuda::message_of(Fault::divergent_barrier),
               Contains("thread 0 of block 0 waits for its block, but thread 6 has ended"));
    CHECK_THAT(cuda::message_of(Fault::out_of_bounds),
               Contains("of block 1") && Contains("of device memory that has 70"));
    CHECK_THAT(cuda::message_of(Fault::unwritten), Contains("which nothing wrote"));
}

TEST_CASE("the emulator finds races in shared memory whatever the order of threads", "[cuda]") {
    const ScopedWay device(Way::cuda);
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
        emulator::set_seed(seed);
        Tensor y({64});
        CHECK_THAT(refused([&] { launch("late", late_kernel, one_block, y.on_device()); }),
                   Contains("late: thread") &&
                       (Contains("may still read") || Contains("no barrier in between")));
        CHECK_THAT(refused([&] { launch("two", two_writers_kernel, one_block, y.on_device()); }),
                   Contains("writes too"));
        CHECK_THAT(
            refused([&] { launch("warp", of_warp_kernel, one_block, y.on_device(), false); }),
            Contains("warp: thread"));
        CHECK(refused([&] { launch("warp", of_warp_kernel, one_block, y.on_device(), true); }) ==
              "nothing");
        CHECK(y(5) == 4);
        CHECK_THAT(
            refused([&] { launch("values", of_neighbors_kernel, one_block, y.on_device()); }),
            Contains("values: thread") && Contains("no barrier in between"));
    }
}

TEST_CASE("the emulator finds barriers that threads do not share", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64});
    CHECK_THAT(refused([&] { launch("two", two_barriers_kernel, one_block, y.on_device()); }),
               Contains("waits for its block, but thread 32 waits at 11_emulator.cpp"));
    CHECK_THAT(refused([&] { launch("part", part_of_warp_kernel, one_block, y.on_device()); }),
               Contains("waits for its warp, but some of its threads have ended"));
}

TEST_CASE("a copy of what nothing wrote is no more written", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64}), z({64});
    launch("first", first_alone_kernel, one_block, y.on_device());
    const Tensor copy = y.clone();
    CHECK_THAT(refused([&] {
                   launch("double", double_kernel, one_block, z.on_device(), copy.on_device());
               }),
               Contains("which nothing wrote"));
}

TEST_CASE("a fault leaves nothing behind in the next kernel's counts", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({64});
    Tensor y({64});
    const auto requests = [&](Index n) {
        cuda::count_kernels(true);
        const std::string said = refused([&] {
            launch("fault", ends_in_a_fault_kernel, one_block, y.on_device(), x.on_device(), n);
        });
        CHECK((said == "nothing") == (n == 64));
        const auto counts = cuda::kernel_counts();
        cuda::count_kernels(false);
        return counts.empty() ? 0 : counts.front().requests;
    };
    const auto whole = requests(64);
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        emulator::set_seed(seed);
        requests(40);
        CHECK(requests(64) == whole);
    }
}

TEST_CASE("the emulator finds what lies outside", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor lanes({64});
    CHECK_THAT(refused([&] { launch("beyond", beyond_warp_kernel, one_block, lanes.on_device()); }),
               Contains("asks lane"));
    Tensor y({64});
    CHECK_THAT(refused([&] { launch("before", negative_kernel, one_block, y.on_device()); }),
               Contains("before: thread 0 of block 0 writes element -1 of device memory"));
    CHECK_THAT(refused([&] { launch("over", over_shared_kernel, one_block, y.on_device()); }),
               Contains("of a shared array of 3"));
    CHECK_THAT(
        refused([&] { launch("empty", late_kernel, one_block, static_cast<Real*>(nullptr)); }),
        Contains("where there is no tensor"));
    Real* gone = nullptr;
    {
        Tensor t({64});
        gone = t.on_device();
    }
    CHECK_THAT(refused([&] { launch("gone", late_kernel, one_block, gone); }),
               Contains("address is not in device memory"));
    const cuda::Grid large{dim3(1), dim3(2048)};
    ScopedWay again(Way::cuda);
    CHECK_THROWS_WITH(launch("large", late_kernel, large, y.on_device()),
                      Contains("a block of (2048, 1, 1) threads"));
    const cuda::Grid deep{dim3(1), dim3(1, 1, 65)}, wide{dim3(0x80000000u), dim3(32)};
    CHECK_THROWS_WITH(launch("deep", late_kernel, deep, y.on_device()), Contains("z at most 64"));
    CHECK_THROWS_WITH(launch("wide", late_kernel, wide, y.on_device()), Contains("2147483647"));
    const cuda::Grid greedy{dim3(1), dim3(64), (99 << 10) + 1};
    CHECK_THROWS_WITH(launch("greedy", late_kernel, greedy, y.on_device()),
                      Contains("101377 bytes of shared memory, at most 101376"));
}

namespace {

__global__ void __launch_bounds__(64) bounded_kernel(Global<Real> y) {
    cuda::threads_at_most(64);
    if (threadIdx.x == 0) y[0] = 1;
}
constexpr int bounded_line = __LINE__ - 3;

}  // namespace

TEST_CASE("the emulator refuses a block with more threads than its kernel promises", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({1});
    launch("bounded", bounded_kernel, one_block, y.on_device());
    const cuda::Grid tall{dim3(1), dim3(32, 3)};
    CHECK_THAT(refused([&] { launch("bounded", bounded_kernel, tall, y.on_device()); }),
               Contains("is one of 96 in its block, which promises at most 64") &&
                   Contains(fmt::format(":{}", bounded_line)));
}

namespace {

/// Two numbers that are moved at once.
struct alignas(2 * sizeof(Real)) Pair {
    Real first, second;
};

__global__ void pair_kernel(Global<Pair> y) {
    y[threadIdx.x] = Pair{1, 2};
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

int blocks_begun = 0;
__global__ void left_behind_kernel(Global<Real> y) {  // only the first block to run writes
    __shared__ Shared<Real, 1> left;
    if (blocks_begun++ == 0) left[0] = 1;
    y[blockIdx.x] = left[0];
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

TEST_CASE("the emulator finds accesses that are not aligned", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({64});
    const cuda::Grid grid{dim3(1), dim3(8)};
    const auto pairs = [&](Index first) {
        return refused([&] {
            launch("pair", pair_kernel, grid, reinterpret_cast<Pair*>(y.on_device() + first));
        });
    };
    CHECK(pairs(2) == "nothing");
    CHECK_THAT(pairs(3), Contains("of device memory, which is no multiple of") &&
                             Contains("11_emulator.cpp"));
}

TEST_CASE("a block finds nothing that another has left in shared memory", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({2});
    const auto said = [&](unsigned blocks) {
        blocks_begun = 0;
        return refused([&] {
            launch("left", left_behind_kernel, cuda::Grid{dim3(blocks), dim3(1)}, y.on_device());
        });
    };
    CHECK(said(1) == "nothing");
    CHECK_THAT(said(2), Contains("of shared memory, which nothing wrote"));
}

TEST_CASE("the emulator finds races between blocks", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const cuda::Grid blocks{dim3(4), dim3(1)}, two{dim3(2), dim3(1)};
    Tensor y = Tensor::zeros({64});
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // either of the two begins
        emulator::set_seed(seed);
        CHECK_THAT(refused([&] { launch("one", one_place_kernel, blocks, y.on_device()); }),
                   Contains("one: thread 0 of block") && Contains("writes what block") &&
                       Contains("in the same launch (11_emulator.cpp"));
        CHECK_THAT(refused([&] { launch("shift", shift_kernel, two, y.on_device()); }),
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
    CHECK_THAT(refused([&] { launch("count", count_kernel, blocks, counter.on_device(), true); }),
               Contains("reads what an atomic function writes at 11_emulator.cpp"));
}

namespace {

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

TEST_CASE("an asynchronous copy has arrived only after the wait", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({128});
    Tensor y({128});
    const auto said = [&](Forgets forgets) {
        return refused([&] {
            launch("async", async_kernel, one_block, y.on_device(), x.on_device(), forgets);
        });
    };
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        emulator::set_seed(seed);
        CHECK(said(Forgets::nothing) == "nothing");
        CHECK(y(3) == x(60));
        CHECK(y(64) == x(127));
        for (const Forgets forgets : {Forgets::commit, Forgets::wait, Forgets::last_group})
            CHECK_THAT(said(forgets), Contains("of shared memory, which nothing wrote") &&
                                          Contains("11_emulator.cpp"));
        CHECK(said(Forgets::barrier) != "nothing");  // not written yet, or a race
    }
    Tensor whole = Tensor::zeros({64});
    const auto copy = [&](Index first, int bytes) {
        return refused([&] {
            launch("bytes", async_bytes_kernel, cuda::Grid{dim3(1), dim3(1)}, whole.on_device(),
                   first, bytes);
        });
    };
    CHECK(copy(4, 16) == "nothing");
    CHECK_THAT(copy(1, 16), Contains("no multiple of 16"));
    CHECK_THAT(copy(0, 12), Contains("12 bytes at once, expected 4, 8 or 16"));
}

namespace {

/// The numbers of a register.
template <class T>
float number(std::uint32_t bits, int i) {
    return std::bit_cast<float>(T::together == 1 ? bits : bits << (i == 0 ? 16 : 0) >> 16 << 16);
}

/// Writes which number of A, B and C each register of a lane holds, where row r of column c in A
/// and B holds 16 r + c.
template <class T>
__global__ void layout_kernel(Global<Real> y) {
    const auto at = [](int row, int column) { return 16 * row + column; };
    const auto a = cuda::load_a<T>(at);
    const auto b = cuda::load_b<T>(at);
    Index next = 24 * static_cast<Index>(threadIdx.x);
    for (int i = 0; i < 4 * T::together; ++i)
        y[next++] = number<T>(a.bits[i / T::together], i % T::together);
    for (int i = 0; i < 2 * T::together; ++i)
        y[next++] = number<T>(b.bits[i / T::together], i % T::together);
    cuda::store_c(
        {}, [&](int row, int column, float) { y[next++] = static_cast<Real>(at(row, column)); });
}

template <class T>
void add_ones(cuda::FragmentC& c, std::uint32_t ones) {
    mma(c, cuda::FragmentA<T>{{ones, ones, ones, ones}}, cuda::FragmentB<T>{{ones, ones}});
}

constexpr std::uint32_t bits_of_one = 0x3f800000u, two_ones = 0x3f803f80u;

__global__ void ones_kernel(Global<Real> y, int lanes_of_bf16, std::uint32_t ones) {
    cuda::FragmentC c;
    if (cuda::lane() < lanes_of_bf16)
        add_ones<cuda::Bf16>(c, two_ones);
    else
        add_ones<cuda::Tf32>(c, ones);
    y[threadIdx.x] = c.sums[3];
}

}  // namespace

TEST_CASE("fragments of tensor cores lie as CUDA documents it", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const cuda::Grid warp = cuda::blocks_of(1, 32);
    for (const bool bf16 : {false, true}) {
        Tensor y({32, 24});
        launch("layout", bf16 ? layout_kernel<cuda::Bf16> : layout_kernel<cuda::Tf32>, warp,
               y.on_device());
        for (int lane = 0; lane < 32; ++lane) {  // the formulas of PTX's reference
            const int group = lane >> 2, in_group = lane % 4, n = bf16 ? 8 : 4;
            const auto held = [&](int i) { return static_cast<int>(y(lane, i)); };
            for (int i = 0; i < n; ++i) {
                const bool upper = bf16 ? i < 2 || (4 <= i && i < 6) : i == 0 || i == 2;
                const int column =
                    bf16 ? in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0) : in_group + (i >= 2 ? 4 : 0);
                REQUIRE(held(i) == 16 * (upper ? group : group + 8) + column);
            }
            for (int i = 0; i < n / 2; ++i) {
                const int row =
                    bf16 ? in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0) : in_group + (i == 1 ? 4 : 0);
                REQUIRE(held(n + i) == 16 * row + group);
            }
            for (int i = 0; i < 4; ++i)
                REQUIRE(held(n + n / 2 + i) ==
                        16 * (i < 2 ? group : group + 8) + in_group * 2 + (i & 1));
        }
    }
    CHECK(cuda::rounded<cuda::Bf16>(1 + 0x1p-8f) == bits_of_one);  // a tie goes to the even number
    CHECK(std::bit_cast<float>(cuda::rounded<cuda::Bf16>(1 + 0x3p-8f)) == 1 + 0x1p-6f);
    CHECK(std::bit_cast<float>(cuda::rounded<cuda::Tf32>(-1 - 0x1.8p-11f)) == -1 - 0x1p-10f);
    CHECK(std::isnan(std::bit_cast<float>(cuda::rounded<cuda::Tf32>(std::bit_cast<float>(~0u)))));
}

TEST_CASE(
    "a product on tensor cores is right only if all lanes take part, each with its own numbers",
    "[cuda]") {
    const ScopedWay device(Way::cuda);
    using cuda::Lanes;
    const Tensor a = random_integers({16, 32}), b = random_integers({32, 8});
    const Tensor right = matmul(a, b);
    for (const auto product :
         {cuda::tensor_product<cuda::Tf32>, cuda::tensor_product<cuda::Bf16>}) {
        Tensor c({16, 8});
        product(c, a, b, Lanes::right);
        check_same_bits({c}, {right});
        product(c, a, b, Lanes::swapped);
        CHECK_FALSE(near(c, right, 1000));
        CHECK_THAT(
            refused([&] { product(c, a, b, Lanes::missing); }),
            Contains("waits for its warp, but some of its threads have ended (tensor_cores.cu"));
        CHECK_THAT(refused([&] { product(c, a, b, Lanes::elsewhere); }),
                   Contains("waits in another call at tensor_cores.cu"));
    }
    Tensor y({32});
    const auto ones = [&](int threads, int lanes_of_bf16, std::uint32_t bits = bits_of_one) {
        return refused([&] {
            launch("ones", ones_kernel, cuda::blocks_of(1, threads), y.on_device(), lanes_of_bf16,
                   bits);
        });
    };
    CHECK(ones(32, 32) == "nothing");
    CHECK(y(31) == 16);
    CHECK(ones(32, 0, bits_of_one + 1) == "nothing");  // TF32 has no such bit
    CHECK(y(31) == 8);
    CHECK_THAT(ones(32, 7), Contains("waits in another call at 11_emulator.cpp"));
    CHECK_THAT(ones(24, 24), Contains("a warp that has fewer than 32 threads (11_emulator.cpp"));
}

TEST_CASE("after a fault the next kernel runs as if nothing had been", "[cuda]") {
    const ScopedWay device(Way::cuda);
    for (int i = 0; i < 3; ++i) {
        Tensor y({64});
        CHECK(refused([&] { launch("two", two_barriers_kernel, one_block, y.on_device()); }) !=
              "nothing");
        const Tensor x = random_tensor({3, 1000});
        CHECK(near(cuda::row_sums(x, cuda::Sum::tree), cuda::row_sums(x, cuda::Sum::warps), 1000));
    }
}

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

TEST_CASE("neighbors that take neighbors need four sectors a request", "[cuda]") {
    if (in_double) return;  // eight, of numbers twice as long
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({4096});
    const auto count = [&](int together) {
        REQUIRE(cuda::count_kernels(true));
        cuda::copy(x, together);
        const cuda::KernelCount c = cuda::kernel_counts().front();
        cuda::count_kernels(false);
        CHECK(c.bytes == 2 * 4096 * 4);
        CHECK(c.requests == 2 * 4096 / 32);
        return c.sectors / c.requests;
    };
    cuda::copy(x, 1);  // x is there now
    CHECK(count(1) == 4);
    CHECK(count(2) == 8);
    CHECK(count(8) == 32);
}

TEST_CASE("elementwise kernels read and write four neighbors at once", "[cuda]") {
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({4096});
    REQUIRE(cuda::count_kernels(true));
    relu(x);
    const cuda::KernelCount c = cuda::kernel_counts().front();
    CHECK(c.bytes == 2 * 4096 * static_cast<Index>(sizeof(Real)));
    CHECK(c.requests == 2 * 4096 / 4 / 32);

    Parameter w(x);
    scale_grad({{"w", &w}}, 2);
    cuda::count_kernels(false);
    const cuda::KernelCount of_list = cuda::kernel_counts().back();
    CHECK(of_list.name == "scale list");
    CHECK(of_list.requests == 2 * 4096 / 4 / 32 + 1);  // and one thread reads the list
}

TEST_CASE("one column more keeps the turns of a transpose apart", "[cuda]") {
    if (in_double) return;
    const ScopedWay device(Way::cuda);
    const Tensor x = random_tensor({64, 96});
    const auto turns = [&](cuda::Turn turn) {
        cuda::count_kernels(true);
        cuda::transpose(x, turn);
        const cuda::KernelCount c = cuda::kernel_counts().front();
        cuda::count_kernels(false);
        return static_cast<double>(c.shared_turns) / static_cast<double>(c.shared_requests);
    };
    cuda::transpose(x, cuda::Turn::tile);
    CHECK(turns(cuda::Turn::tile) == 16.5);  // 1 to write, 32 to read
    CHECK(turns(cuda::Turn::padded_tile) == 1);
}

TEST_CASE("each rung asks the memories for what the page computes", "[cuda]") {
    struct Asked {
        Index requests, sectors, shared_requests, shared_turns, barriers;
        bool operator==(const Asked&) const = default;
    };
    const ScopedWay device(Way::cuda);
    constexpr Index k = 16, steps = 2, warps = 8, columns = 4 * 16, elements = 64 * warps;
    const Tensor a = random_tensor({128, k}), b = random_tensor({k, 128});
    const auto asked = [&](cuda::Rung rung) {
        product(a, b, rung);  // a and b are there now
        REQUIRE(cuda::count_kernels(true));
        product(a, b, rung);
        const cuda::KernelCount c = cuda::kernel_counts().front();
        cuda::count_kernels(false);
        return Asked{c.requests, c.sectors, c.shared_requests, c.shared_turns, c.barriers};
    };
    using cuda::Rung;
    // 512 warps, each with 16 x 2 results; what is written follows the plus
    CHECK(asked(Rung::naive) == Asked{elements * (2 * k + 1), elements * (17 * k + 16), 0, 0, 0});
    CHECK(asked(Rung::coalesced) == Asked{elements * (2 * k + 1), elements * (4 * k + 4), 0, 0, 0});
    CHECK(asked(Rung::shared) == Asked{elements * 3, elements * (4 + 4 + 4),
                                       elements * (2 + 2 * 16), elements * (2 + 2 * 16), 64 * 2});
    // 4 blocks of 16 warps; a step writes 2 words per thread and reads 9 for each of 8 p
    CHECK(asked(Rung::column) == Asked{columns * (2 * steps + 8), columns * (8 * steps + 32),
                                       columns * steps * 74, columns * steps * 74, 4 * 2 * steps});
    // one block from here on
    CHECK(asked(Rung::square) == Asked{warps * (8 * steps + 64), warps * (32 * steps + 256),
                                       warps * steps * 136, warps * steps * 136, 2 * steps});
    // a step writes 4 words and a four of 4 turns, and reads 4 fours in 6 turns for each of 8 p
    CHECK(asked(Rung::wide) == Asked{warps * (2 * steps + 16), warps * (32 * steps + 256),
                                     warps * steps * 37, warps * steps * 56, 2 * steps});
    // a step copies 2 fours of 4 turns, and reads 8 fours in 8 turns and 8 in 16 for each four p
    CHECK(asked(Rung::two_stages) == Asked{warps * (2 * steps + 16), warps * (32 * steps + 256),
                                           warps * steps * 34, warps * steps * 56, steps});
    // a step reads 4 fragments of 4 words and 4 of 2
    CHECK(asked(Rung::tensor_cores) == Asked{warps * (2 * steps + 64), warps * (32 * steps + 512),
                                             warps * steps * 26, warps * steps * 32, steps});
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
        const Tensor norm({1}, {static_cast<Real>(grad_norm(parameters_of(map)))});
        Adam(parameters_of(map)).step(Real(0.1));
        return with_gradients({y, norm, map.bias.grad(), map.bias.value}, model);
    };
    check_same_bits(gradients(1), gradients(2));
}
