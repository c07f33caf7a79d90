#include "lib/storage.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"

namespace abh {
// [blocks]
namespace {

constexpr std::align_val_t alignment{64};

/// Freed blocks by size, waiting to be used again.
class Pool {
public:
    using Take = void* (*)(std::size_t);
    using Give = void (*)(void*, std::size_t) noexcept;

    Pool(Take fresh, Give drop) : take_(fresh), give_(drop) {}

    void* take(std::size_t bytes) {
        {
            const std::lock_guard lock(mutex_);
            auto& blocks = free_[bytes];
            if (!blocks.empty()) {
                void* block = blocks.back();
                blocks.pop_back();
                return block;
            }
        }
        try {
            return take_(bytes);
        } catch (const std::exception&) {  // perhaps other sizes have it all
            clear();
            return take_(bytes);
        }
    }

    void give(void* block, std::size_t bytes) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            free_[bytes].push_back(block);
        } catch (...) {
            give_(block, bytes);
        }
    }

private:
    /// Gives all waiting blocks back.
    void clear() {
        const std::lock_guard lock(mutex_);
        for (auto& [bytes, blocks] : free_)
            for (void* block : blocks) give_(block, bytes);
        free_.clear();
    }

    Take take_;
    Give give_;
    std::mutex mutex_;
    std::unordered_map<std::size_t, std::vector<void*>> free_;
};

void* take_from_system(std::size_t bytes) {
    return ::operator new(bytes, alignment);
}

void give_to_system(void* block, std::size_t) noexcept {
    ::operator delete(block, alignment);
}
// [blocks: pools]
#ifdef ABH_CHECK_MEMORY  // for tests: every block is fresh and full of NaN, so that misuse shows
void* take_host(std::size_t bytes) {
    void* const block = take_from_system(bytes);
    std::memset(block, 0xff, bytes);
    return block;
}

void give_host(void* block, std::size_t bytes) noexcept {
    give_to_system(block, bytes);
}
#else
Pool& host_pool() {
    static Pool* const pool = new Pool(take_from_system, give_to_system);  // outlives every tensor
    return *pool;
}

void* take_host(std::size_t bytes) {
    return host_pool().take(bytes);
}

void give_host(void* block, std::size_t bytes) noexcept {
    host_pool().give(block, bytes);
}
#endif

Pool& device_pool() {
    static Pool* const pool = new Pool(cuda::take, cuda::give);
    return *pool;
}

/// The emulator's blocks are always fresh: then it knows what nothing wrote, and what is gone.
void* take_device(std::size_t bytes) {
    return cuda::emulated ? cuda::take(bytes) : device_pool().take(bytes);
}

void give_device(void* block, std::size_t bytes) noexcept {
    cuda::emulated ? cuda::give(block, bytes) : device_pool().give(block, bytes);
}

std::mutex moving;  // held while elements go from one memory to the other
Transfers moved;

}  // namespace
// [storage]
Storage::Storage(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    if (on_cuda()) return;  // whoever writes first decides
    host_ = take_host(bytes_);
    at_ = on_host;
    never_on_device_ = true;
}

Storage::~Storage() {
    if (host_) give_host(host_, bytes_);
    if (device_) give_device(device_, bytes_);
}
// [storage: fetch]
void* Storage::fetch_to_host(bool write) {
    const std::lock_guard lock(moving);
    if (!host_) host_ = take_host(bytes_);
    if (at_ == on_device) {
        cuda::copy_to_host(host_, device_, bytes_);
        ++moved.to_host;
        moved.bytes_to_host += static_cast<std::int64_t>(bytes_);
    }
    at_ = write || at_ == nowhere ? on_host : at_ | on_host;
    return host_;
}

void* Storage::device(bool write) {
    const std::lock_guard lock(moving);
    never_on_device_ = false;
    if (!device_) device_ = take_device(bytes_);
    if (at_ == on_host) {
        cuda::copy_to_device(device_, host_, bytes_);
        ++moved.to_device;
        moved.bytes_to_device += static_cast<std::int64_t>(bytes_);
    }
    at_ = write || at_ == nowhere ? on_device : at_ | on_device;
    return device_;
}
// [storage: copy and transfers]
void Storage::copy(Storage& other) {
    if (other.at_ & on_device)
        cuda::copy_on_device(device(true), other.device(false), bytes_);
    else
        std::memcpy(host(true), other.host(false), bytes_);
}

Transfers transfers() {
    return moved;
}

}  // namespace abh
