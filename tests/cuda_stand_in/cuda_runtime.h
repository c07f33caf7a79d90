#pragma once

// Stands in for CUDA's runtime where a test compiles lib/cuda/runtime.cu: no device is needed.
// Device memory is ordinary memory. No kernel runs; a test says that one has failed, which only
// calls that wait for it find out, as on a device. They find it out every time, and `cudaMalloc`
// always waits.
//
// The namespace has no name, because the test program may be linked with the real runtime, too.
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>
#include <vector>

#define __device__
#define __host__
#define __shared__
#define __align__(bytes)

namespace {

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorIllegalAddress = 700
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDefault = 4 };
constexpr unsigned cudaEventDisableTiming = 2;
using cudaStream_t = struct CUstream_st*;

namespace stand_in {
constexpr std::align_val_t block_alignment{1024};  // a device's is 256 or more

using Blocks = std::map<std::byte*, std::size_t>;  ///< where they begin, and their bytes

Blocks blocks, pinned;              ///< of device memory, and of pinned memory
std::vector<std::size_t> requests;  ///< the bytes that `cudaMalloc` was asked for
int major = 9;                      ///< of the device's compute capability
std::size_t most_bytes = std::numeric_limits<std::size_t>::max();  ///< that it has for a request
cudaError_t fault = cudaSuccess;                                   ///< of a kernel
cudaError_t last = cudaSuccess;  ///< the error that `cudaGetLastError` returns

/// A copy that has begun.
struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
};
std::vector<Copy> copies;     ///< all that have begun
std::size_t copies_done = 0;  ///< the first ones; the others are done when a call waits for them

/// Copies what the first `n` copies had to, as late as a device may.
void finish_copies(std::size_t n = copies.size()) {
    for (; copies_done < n; ++copies_done) {
        const Copy& copy = copies[copies_done];
        std::memcpy(copy.to, copy.from, copy.bytes);
    }
}

/// What a call returns that waits for kernels and copies.
cudaError_t after_kernels(cudaError_t own = cudaSuccess) {
    finish_copies();
    const cudaError_t error = fault != cudaSuccess ? fault : own;
    if (error != cudaSuccess) last = error;
    return error;
}

bool in(const Blocks& pieces, const void* p, std::size_t bytes) {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(p));
    auto block = pieces.upper_bound(first);
    if (block == pieces.begin()) return false;
    --block;
    return first + bytes <= block->first + block->second;
}
bool on_device(const void* p, std::size_t bytes) {
    return in(blocks, p, bytes);
}
}  // namespace stand_in

const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
                                              : "no error";
}
cudaError_t cudaGetLastError() {
    return std::exchange(stand_in::last, cudaSuccess);
}
cudaError_t cudaDeviceSynchronize() {
    return stand_in::after_kernels();
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
struct cudaDeviceProp {
    char name[256];
    int major;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    std::strcpy(properties->name, "stand-in");
    properties->major = stand_in::major;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
    stand_in::requests.push_back(bytes);
    const bool enough = bytes <= stand_in::most_bytes;
    const cudaError_t error =
        stand_in::after_kernels(enough ? cudaSuccess : cudaErrorMemoryAllocation);
    if (error != cudaSuccess) return error;
    *p = ::operator new(bytes, stand_in::block_alignment);
    stand_in::blocks[static_cast<std::byte*>(*p)] = bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
    stand_in::blocks.erase(static_cast<std::byte*>(p));
    ::operator delete(p, stand_in::block_alignment);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    if (stand_in::after_kernels() == cudaSuccess) std::memcpy(to, from, bytes);
    return stand_in::fault;
}
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
    *p = ::operator new(bytes);
    stand_in::pinned[static_cast<std::byte*>(*p)] = bytes;
    return cudaSuccess;
}
/// Takes pinned memory alone, although from other memory CUDA would copy, too, but not in passing.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t = nullptr) {
    if (kind != cudaMemcpyHostToDevice || !stand_in::in(stand_in::pinned, from, bytes) ||
        !stand_in::on_device(to, bytes))
        return cudaErrorInvalidValue;
    stand_in::copies.push_back({to, from, bytes});
    return cudaSuccess;
}

struct CUevent_st {
    std::size_t copies = 0;  ///< that had begun when it was recorded
};
using cudaEvent_t = CUevent_st*;
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
/// A millisecond for each copy that began between the two.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
    *ms = static_cast<float>(end->copies - begin->copies);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
    event->copies = stand_in::copies.size();
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    stand_in::finish_copies(event->copies);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t = nullptr) {
    std::memset(to, value, bytes);
    return cudaSuccess;
}

}  // namespace
