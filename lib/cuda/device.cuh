#pragma once

// A real device, for CUDA's compiler.
#include <cuda_runtime.h>
#ifdef __CUDACC__
#include <cuda_pipeline.h>
#endif

#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/tensor.hpp"

namespace abh::cuda {
// [pointers]
/// A pointer to the device's memory. The emulator's version checks each access.
template <class T>
using Global = T*;

/// The same address for numbers of another type.
template <class To, class T>
__device__ To* as(T* address) {
    return reinterpret_cast<To*>(address);
}

namespace detail {
template <class T, int... n>
struct ArrayOf {
    using type = T;
};
template <class T, int first, int... rest>
struct ArrayOf<T, first, rest...> {
    using type = typename ArrayOf<T, rest...>::type[first];
};
}  // namespace detail

/// An array `T[n]...` in the memory that the threads of a block share.
template <class T, int... n>
using Shared = typename detail::ArrayOf<T, n...>::type;

/// The beginning of the dynamic shared memory, whose size the launch sets.
template <class T>
__device__ T* dynamic_shared() {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    return reinterpret_cast<T*>(shared_bytes);
}

template <class T>
__host__ __device__ constexpr T infinity() {
    return static_cast<T>(__builtin_huge_val());
}
/// Does nothing on a device, which refuses by itself to launch more threads than
/// `__launch_bounds__` promises. The emulator compares them with this number.
__device__ constexpr void threads_at_most(int) {}
// [launch: errors]
/// Whether each launch waits for its kernel. CUDA has this switch for debugging.
inline bool launches_wait() {
    const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value && std::string_view(value) == "1";
}

/// Throws `std::runtime_error` naming `what` unless `status` is success.
inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    // a kernel's fault stays: every later call returns it, whatever that call does itself
    const bool stays = !launches_wait() && cudaDeviceSynchronize() == status;
    cudaGetLastError();  // clears any other error, so that the next launch does not report it
    throw std::runtime_error(fmt::format(
        "cuda: {}: {}{}", what, cudaGetErrorString(status),
        stays ? " (perhaps in an earlier kernel; CUDA_LAUNCH_BLOCKING=1 names it)" : ""));
}

/// Throws if the kernel called `name` did not start or, where launches wait, if it failed.
inline void check_launch(const char* name) {
    check(cudaGetLastError(), name);
    if (launches_wait()) check(cudaDeviceSynchronize(), name);
}
// [launch]
#ifdef __CUDACC__  // tests compile the rest of this file as C++
/// Starts `kernel` on all threads of `grid`, and returns while it runs.
template <class Grid, class... P, class... A>
void launch(const char* name, void (*kernel)(P...), const Grid& grid, A&&... arguments) {
    if (grid.blocks.x == 0 || grid.blocks.y == 0 || grid.blocks.z == 0) return;
    constexpr std::size_t always_there = 40 << 10;  // plus the kernel's own; more must be requested
    if (grid.shared_bytes > always_there)
        check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(grid.shared_bytes)),
              name);
    kernel<<<grid.blocks, grid.threads, grid.shared_bytes>>>(static_cast<P>(arguments)...);
    check_launch(name);
}
#endif

}  // namespace abh::cuda
