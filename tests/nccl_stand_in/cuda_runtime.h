#pragma once

// Stands in for CUDA's runtime where a test compiles chapters/14_on_many_machines/ranks/nccl.cpp: no device is needed, and
// ranks are threads. Device memory is ordinary memory, but a pointer to the wrong side is refused.
// The work of a stream is done in its order, and only when somebody asks whether it is done. So the
// tests see which calls are made, with which arguments and in which order; they do not see what a
// real device does at the same time, nor how fast.
//
// The namespace has no name, because the test program may be linked with the real runtime, too.
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace {

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorNotReady = 600 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
struct cudaPointerAttributes {
    cudaMemoryType type;
};
struct CUstream_st {
    std::deque<std::function<bool()>> work;  ///< each returns whether it could be done
    std::size_t added = 0, done = 0;

    void add(std::function<bool()> f) {
        work.push_back(std::move(f));
        ++added;
    }
    bool has_done(std::size_t count) {
        for (; !work.empty() && work.front()(); ++done) work.pop_front();
        return done >= count;
    }
};
using cudaStream_t = CUstream_st*;
struct CUevent_st {
    cudaStream_t stream;
    std::size_t at;  ///< what was in the stream
};
using cudaEvent_t = CUevent_st*;

namespace stand_in {
int devices = 8;
thread_local int device = -1;  ///< the current one
thread_local int hidden = 0;   ///< devices before the first that this rank sees
thread_local CUstream_st default_stream;
std::mutex mutex;
std::map<const std::byte*, std::vector<std::byte>> memory;  ///< of all devices

bool on_device(const void* p, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    const auto* const first = static_cast<const std::byte*>(p);
    auto block = memory.upper_bound(first);
    if (block == memory.begin()) return false;
    --block;
    return first + bytes <= block->first + block->second.size();
}
}  // namespace stand_in

const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : "invalid argument";
}
cudaError_t cudaGetLastError() {
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = stand_in::devices;
    return cudaSuccess;
}
struct cudaDeviceProp {
    struct {
        char bytes[16];
    } uuid;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = {};
    properties->uuid.bytes[0] = static_cast<char>('A' + stand_in::hidden + device);
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    stand_in::device = device;
    return device < stand_in::devices ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
    attributes->type =
        stand_in::on_device(p, 1) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = new CUstream_st;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    stream->has_done(stream->added);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st{};
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->stream = stream ? stream : &stand_in::default_stream;
    event->at = event->stream->added;
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return event->stream->has_done(event->at) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    stream->add([at = *event] { return at.stream->has_done(at.at); });
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t) {
    std::vector<std::byte> block(bytes);
    const std::lock_guard lock(stand_in::mutex);
    *p = block.data();
    stand_in::memory[block.data()] = std::move(block);
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
    stream->add([p] {
        const std::lock_guard lock(stand_in::mutex);
        return stand_in::memory.erase(static_cast<const std::byte*>(p)) == 1;
    });
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (stand_in::on_device(to, bytes) != (kind == cudaMemcpyHostToDevice) ||
        stand_in::on_device(from, bytes) != (kind == cudaMemcpyDeviceToHost))
        return cudaErrorInvalidValue;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

}  // namespace
