// Per way: tensor cores, as the emulator has them.
#include <bit>
#include <cmath>

#include "lib/cuda/counts.hpp"
#include "lib/cuda/fragments.cuh"
#include "lib/matmul.hpp"
#include "tests/11_on_the_gpu/refused.hpp"
#include "tests/devices.hpp"
#include "tests/tensor_cores.cu"

using namespace abh;
using cuda::Global, cuda::launch;

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
    cuda::FragmentA<T> a;
    cuda::FragmentB<T> b;
    cuda::load(a, b, at, at);
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

/// Loads rows of 16 bytes, `apart` numbers from each other, that no barrier separates from the
/// writes if `racing`.
template <int apart>
__global__ void rows_kernel(Global<Real> y, bool racing, int moved, bool from_device) {
    __shared__ cuda::Shared<float, 32 * apart> rows;
    for (int i = 0; i < apart; ++i)
        rows[cuda::lane() + 32 * i] = static_cast<float>(cuda::lane() + 32 * i);
    if (!racing) __syncwarp();
    std::uint32_t words[4];
    if (from_device)
        cuda::load_matrices(words, y + 4 * cuda::lane());
    else
        cuda::load_matrices(words, &rows[apart * cuda::lane() + moved]);
    y[threadIdx.x] = std::bit_cast<float>(words[3]);
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
        return refused("ones", ones_kernel, cuda::blocks_of(1, threads), y.on_device(),
                       lanes_of_bf16, bits);
    };
    CHECK(ones(32, 32) == "nothing");
    CHECK(y(31) == 16);
    CHECK(ones(32, 0, bits_of_one + 1) == "nothing");  // TF32 has no such bit
    CHECK(y(31) == 8);
    CHECK_THAT(ones(32, 7), Contains("waits in another call at emulator_tensor_cores.cpp"));
    CHECK_THAT(ones(24, 24),
               Contains("a warp that has fewer than 32 threads (emulator_tensor_cores.cpp"));
}

TEST_CASE("rows of matrices are loaded in four turns if they lie in different banks", "[cuda]") {
    const ScopedWay device(Way::cuda);
    Tensor y({32});
    const auto load = [&](auto kernel, bool racing, int moved, bool from_device, int threads = 32) {
        cuda::count_kernels(true);
        const std::string said = refused("rows", kernel, cuda::blocks_of(1, threads), y.on_device(),
                                         racing, moved, from_device);
        cuda::count_kernels(false);
        return said;
    };
    const auto turns = [] {
        const cuda::KernelCount c = cuda::kernel_counts().front();
        return c.shared_turns - (c.shared_requests - 1);  // each store takes one
    };
    CHECK(load(rows_kernel<12>, false, 0, false) == "nothing");
    CHECK(y(6) == 12 * 25 + 2);  // lane 4 + 2 has word 2 of row 1 of the last matrix
    CHECK(turns() == 4);
    CHECK(load(rows_kernel<8>, false, 0, false) == "nothing");
    CHECK(turns() == 8);  // rows 0 and 4 meet in the same banks
    CHECK_THAT(load(rows_kernel<8>, true, 0, false), Contains("with no barrier in between"));
    CHECK_THAT(load(rows_kernel<8>, false, 2, false), Contains("no multiple of 16"));
    CHECK_THAT(load(rows_kernel<8>, false, 0, true), Contains("not from shared memory"));
    CHECK_THAT(load(rows_kernel<4>, false, 0, false, 24), Contains("fewer than 32 threads"));
}
