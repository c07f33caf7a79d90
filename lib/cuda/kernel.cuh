#pragma once

// What every kernel of this book is written with. For CUDA's compiler, this is a thin layer of
// names; for the host's compiler, the emulator implements the same names.
#include <cstdint>
#include <type_traits>

#include "lib/cuda/runtime.hpp"
#include "lib/tensor.hpp"
#ifdef __CUDACC__
#include "lib/cuda/device.cuh"
#else
#include "lib/cuda/emulated/emulator.cuh"
#endif

namespace abh::cuda {
// [grid]
/// The size of a launch: blocks, threads per block, and bytes of dynamic shared memory per block.
struct Grid {
    dim3 blocks, threads;
    std::size_t shared_bytes = 0;
};

constexpr int warp = 32;            ///< threads that a device schedules together
constexpr int block_size = 256;     ///< threads of a block, unless a kernel needs another number
constexpr Index max_blocks = 8192;  ///< enough for any device; then threads take more elements

/// Enough threads for `n` elements, but at most `max_blocks` blocks: then each takes several.
inline Grid grid_for(Index n) {
    const Index blocks = ceil_div(n, block_size);
    return {dim3(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks)),
            dim3(block_size)};
}
/// One block of `threads` threads for each of `blocks` pieces of work.
inline Grid blocks_of(Index blocks, int threads = block_size) {
    return {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads))};
}
/// One block for each of `n_rows` rows of `n` elements: whole warps, but none without work.
inline Grid block_a_row(Index n_rows, Index n) {
    return blocks_of(n_rows,
                     n < block_size ? static_cast<int>(ceil_div(n, warp)) * warp : block_size);
}
/// One square block of threads for each square tile of a matrix `[m, n]`.
inline Grid tiles_of(Index m, Index n, int side) {
    const auto tiles = [side](Index size) { return static_cast<unsigned>(ceil_div(size, side)); };
    const auto threads = static_cast<unsigned>(side);
    return {dim3(tiles(n), tiles(m)), dim3(threads, threads)};
}
// [positions]
/// The first element of this thread. Neighboring threads begin at neighboring elements, so that a
/// warp reads one piece of memory.
__device__ inline Index first_element() {
    return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
/// The distance from one element of this thread to its next.
__device__ inline Index all_threads() {
    return static_cast<Index>(gridDim.x) * blockDim.x;
}
__device__ inline int lane() {
    return static_cast<int>(threadIdx.x) % warp;
}
// [elements]
/// `n` neighbors. Up to 16 bytes are read or written by one instruction, if the first one's address
/// is a multiple of their size.
template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Some {
    T v[n];
};

/// `some<n>(x)[i]` is elements n i, n i + 1, ..., n i + n - 1.
template <int n, class T>
__device__ Global<Some<T, n>> some(Global<T> x) {
    return as<Some<T, n>>(x);
}
template <int n, class T>
__device__ Global<const Some<T, n>> some(Global<const T> x) {
    return as<const Some<T, n>>(x);
}

/// How threads share `n` elements: the first `fours` of them take four neighbors each, and the
/// others take what is left, one each.
struct Elements {
    Index n, fours;
};

/// Calls `f<width>(i)`: this thread takes `some<width>(x)[i]` of each tensor, with width 4 or 1.
template <class F>
__device__ void for_elements(const Elements& all, const F& f) {
    const Index i = first_element();
    if (i < all.fours)
        f.template operator()<4>(i);
    else if (i + 3 * all.fours < all.n)
        f.template operator()<1>(i + 3 * all.fours);
}
// [elements: launch]
template <class T>
bool starts_a_four(const T& argument) {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<std::uintptr_t>(argument) % (4 * sizeof(*argument)) == 0;
    else
        return true;
}

/// Starts `kernel` with as many threads as `n` elements take. They take fours only if `fours` is
/// true, and if every tensor among the arguments begins where a four may begin.
template <class... P, class... A>
void launch_elements(const char* name, void (*kernel)(Elements, P...), Index n, bool fours,
                     const A&... arguments) {
    const Elements all{n, fours && (starts_a_four(arguments) && ...) ? n / 4 : 0};
    launch(name, kernel, blocks_of(ceil_div(n - 3 * all.fours, block_size)), all, arguments...);
}
// [row]
/// Elements of a row that a thread takes at once, each `block_size` from the next: a warp reads one
/// piece of memory for each, and all are on their way together.
struct SomeOfRow {
    static constexpr int count = 4;
    int first, n;

    __device__ int at(int e) const { return first + e * block_size; }
    __device__ bool has(int e) const { return at(e) < n; }
    /// Reads them; what is behind the row's end becomes `otherwise`.
    __device__ void read(Real (&v)[count], Global<const Real> row, Real otherwise) const {
        for (int e = 0; e < count; ++e) v[e] = has(e) ? Real(row[at(e)]) : otherwise;
    }
};

/// Calls `f(some)` for all elements of a row of `n` that this thread takes. Its block has
/// `block_size` threads, or as many as there are elements: `block_a_row`.
template <class F>
__device__ void for_row(Index n, const F& f) {
    const int end = static_cast<int>(n);
    for (int j = static_cast<int>(threadIdx.x); j < end; j += SomeOfRow::count * block_size)
        f(SomeOfRow{j, end});
}
// [reductions]
/// The sum over `lanes` neighbors in a warp, which each of them gets. For 32, it takes five
/// exchanges, always in the same order.
template <int lanes = warp>
__device__ inline Real warp_sum(Real v) {
    for (int other = lanes / 2; other > 0; other /= 2) v += __shfl_xor_sync(0xffffffffu, v, other);
    return v;
}

template <int lanes = warp>
__device__ inline Real warp_max(Real v) {
    for (int other = lanes / 2; other > 0; other /= 2) {
        const Real w = __shfl_xor_sync(0xffffffffu, v, other);
        v = v < w ? w : v;
    }
    return v;
}
// [reductions: block]
/// Extends `reduce`, which combines the numbers of a warp, to a block of whole warps. Each thread
/// gets the result. @param nothing  the number that changes no result
template <Real (*reduce)(Real)>
__device__ inline Real of_block(Real v, Real nothing) {
    __shared__ Shared<Real, warp> of_warp;
    v = reduce(v);
    const int w = static_cast<int>(threadIdx.x) / warp, warps = static_cast<int>(blockDim.x) / warp;
    __syncthreads();  // the last result may still be read
    if (lane() == 0) of_warp[w] = v;
    __syncthreads();
    return reduce(lane() < warps ? Real(of_warp[lane()]) : nothing);
}
__device__ inline Real block_sum(Real v) {
    return of_block<warp_sum<warp>>(v, 0);
}
__device__ inline Real block_max(Real v) {
    return of_block<warp_max<warp>>(v, -infinity<Real>());
}
/// The sum over a block of `block_size` threads in double precision, which thread 0 gets.
__device__ inline double block_sum_of_doubles(double v) {
    __shared__ Shared<double, block_size> share;
    share[threadIdx.x] = v;
    for (unsigned half = block_size / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) share[threadIdx.x] += share[threadIdx.x + half];
    }
    return threadIdx.x == 0 ? double(share[0]) : 0;
}

}  // namespace abh::cuda
