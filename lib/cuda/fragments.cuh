#pragma once

// Tensor cores. A warp adds the product of A [16, k] and B [k, 8] to C [16, 8] in one instruction,
// `mma.sync`. Its lanes hold the matrices in their registers, in a layout that CUDA's reference of
// PTX documents: a fragment is what one lane holds.
#include <bit>

#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [fragments]
/// What tensor cores multiply: numbers of fp32 without their last bits. A register holds
/// `together` numbers, which are neighbors along k.
struct Tf32 {
    static constexpr int together = 1, lost_bits = 13;
};
struct Bf16 {
    static constexpr int together = 2, lost_bits = 16;
};

/// The k of one product.
template <class T>
constexpr int depth = 8 * T::together;

template <class T>
struct FragmentA {
    std::uint32_t bits[4];
};
template <class T>
struct FragmentB {
    std::uint32_t bits[2];
};
struct FragmentC {
    float sums[4] = {};
};
// [numbers]
/// The nearest number that has zeros in place of the lost bits. Of two, the even one.
template <class T>
__host__ __device__ inline std::uint32_t rounded(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (std::is_same_v<T, Tf32>) {  // devices from here on have an instruction for it
        std::uint32_t y;
        asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
        return y;
    }
#endif
    const auto bits = std::bit_cast<std::uint32_t>(x);
    constexpr std::uint32_t unit = 1u << T::lost_bits, quiet = 1u << 22;
    const std::uint32_t up = bits + (unit / 2 - 1) + (bits / unit) % 2;
    return (x == x ? up : bits | quiet) / unit * unit;  // NaN stays NaN
}
// [instructions]
#ifdef __CUDACC__
/// Loads four matrices of 8 rows of 16 bytes from shared memory: this lane names `row`, and those
/// of 8 neighbors are a matrix. Lane 4 g + q gets word q of row g of each or, if they are `turned`,
/// the 16-bit numbers in column g and rows 2 q and 2 q + 1. All 32 lanes of a warp call it
/// together.
template <bool turned = false, class Number>
__device__ void load_matrices(std::uint32_t (&words)[4], Number* row) {
#if __CUDA_ARCH__ >= 800
    const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
#define ABH_LOAD(turn)                                                                      \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" turn ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])           \
                 : "r"(at)                                                                  \
                 : "memory")
    if constexpr (turned)
        ABH_LOAD(".trans");
    else
        ABH_LOAD("");
#undef ABH_LOAD
#else
    __trap();  // older devices have no tensor cores for these numbers
#endif
}

/// Adds A B to C. All 32 lanes of a warp must call it together.
template <class T>
__device__ void mma(FragmentC& c, const FragmentA<T>& a, const FragmentB<T>& b) {
#if __CUDA_ARCH__ >= 800
#define ABH_MMA(shape_and_types)                                                                   \
    asm volatile("mma.sync.aligned." shape_and_types                                               \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
                 : "+f"(c.sums[0]), "+f"(c.sums[1]), "+f"(c.sums[2]), "+f"(c.sums[3])              \
                 : "r"(a.bits[0]), "r"(a.bits[1]), "r"(a.bits[2]), "r"(a.bits[3]), "r"(b.bits[0]), \
                   "r"(b.bits[1]))
    if constexpr (T::together == 1)
        ABH_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else
        ABH_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#undef ABH_MMA
#else
    __trap();  // older devices have no such instruction
#endif
}
#else
template <bool turned = false, class Number>
void load_matrices(std::uint32_t (&words)[4], Global<Number> row, Place place = Place::current()) {
    emulator::load_matrices(words, row.region(), row.offset(), turned, place);
}
template <class T>
void mma(FragmentC& c, const FragmentA<T>& a, const FragmentB<T>& b,
         Place place = Place::current()) {
    emulator::multiply(T::together, c.sums, a.bits, b.bits, place);
}
#endif
// [load and store]
/// Loads A, 16 rows of shared memory, from `a` on and `width` numbers apart. Each row is 32 bytes,
/// two parts of 16, and lane 16 h + r names part h of row r.
template <class T, class Number>
__device__ FragmentA<T> load_a(Global<Number> a, int width) {
    static_assert(T::together * sizeof(Number) == 4);
    FragmentA<T> of_lane;
    load_matrices(of_lane.bits, a + (lane() % 16 * width + depth<T> / 2 * (lane() / 16)));
    return of_lane;
}

/// Gives each number of this lane's part of C to `to`, with its row and column.
template <class To>
__device__ void store_c(const FragmentC& c, const To& to) {
    const int group = lane() / 4, in_group = lane() % 4;
    for (int i = 0; i < 4; ++i) to(group + 8 * (i / 2), 2 * in_group + i % 2, c.sums[i]);
}
// [in bf16]
/// Loads two neighbors of B, so 16 columns, from rows of shared memory that are `width` numbers
/// apart: B's columns or, if they are `turned`, its rows. Lane 8 i + r names row r of matrix i: of
/// the first B its upper and lower half, then of the second.
template <bool turned, class Number>
__device__ void load_b(FragmentB<Bf16> (&b)[2], Global<Number> rows, int width) {
    static_assert(sizeof(Number) == 2);
    const int r = lane() % 8, along_k = lane() / 8 % 2 * 8, column = lane() / 16 * 8;
    std::uint32_t words[4];
    load_matrices<turned>(words, turned ? rows + ((along_k + r) * width + column)
                                        : rows + ((column + r) * width + along_k));
    b[0] = {words[0], words[1]};
    b[1] = {words[2], words[3]};
}

/// Two numbers in bf16 in one register, `low` in its lower half.
__device__ inline std::uint32_t pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return rounded<Bf16>(low) >> 16 | rounded<Bf16>(high);
#endif
}

/// Two neighbors of C as A, whose 16 columns they are. A lane holds of C what it is to hold of A:
/// in row g, numbers 2 q and 2 q + 1 of each 8, where it is lane 4 g + q; and those of row g + 8.
/// So what a warp has computed becomes a factor without leaving its registers.
__device__ inline FragmentA<Bf16> as_a(const FragmentC& left, const FragmentC& right) {
    return {{pair(left.sums[0], left.sums[1]), pair(left.sums[2], left.sums[3]),
             pair(right.sums[0], right.sums[1]), pair(right.sums[2], right.sums[3])}};
}

}  // namespace abh::cuda
