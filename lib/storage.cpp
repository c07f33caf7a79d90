#include "lib/storage.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory_resource>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "lib/cuda/runtime.hpp"
#include "lib/device.hpp"

namespace abh {
// [blocks]
namespace {

/// Freed blocks by size, waiting to be used again.
class Pool {
public:
    using Take = void* (*)(std::size_t);
    using Give = void (*)(void*, std::size_t) noexcept;

    /// @param smallest  bytes of the smallest block that can be given back
    Pool(Take fresh, Give drop, std::size_t smallest)
        : take_(fresh), give_(drop), smallest_(smallest) {}

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
            if (bytes >= smallest_) give_(block, bytes);
        }
    }

private:
    /// Gives waiting blocks back.
    void clear() {
        const std::lock_guard lock(mutex_);
        for (auto& [bytes, blocks] : free_) {
            if (bytes < smallest_) continue;
            for (void* block : blocks) give_(block, bytes);
            blocks.clear();
        }
    }

    Take take_;
    Give give_;
    std::size_t smallest_;
    std::mutex mutex_;
    std::unordered_map<std::size_t, std::vector<void*>> free_;
};
// [blocks: pools]
constexpr std::size_t line = 64;  // bytes that memory sends at once

FreshBlocks fresh;

#ifdef ABH_CHECK_MEMORY  // for tests: every block is fresh and full of NaN, so that misuse shows
void* take_host(std::size_t bytes) {
    void* const block = ::operator new(bytes, std::align_val_t(line));
    std::memset(block, 0xff, bytes);
    return block;
}

void give_host(void* block, std::size_t) noexcept {
    ::operator delete(block, std::align_val_t(line));
}
#else
// [blocks: pieces]
constexpr std::size_t large_page = 1 << 21;          // bytes
constexpr std::size_t piece = std::size_t{1} << 26;  // of the system's memory, in bytes
constexpr std::size_t large_block = piece / 4;       // which is a piece of its own

/// Memory that the system has not given yet, in large pages where it has some.
void* take_piece(std::size_t bytes) {
    void* const p = ::operator new(bytes, std::align_val_t(large_page));
#ifdef __linux__
    madvise(p, bytes, MADV_HUGEPAGE);  // a wish
#endif
    return p;
}

/// Cuts blocks from large pieces, one behind the other. Among the short-lived buffers of a library,
/// `malloc` would leave holes between them.
void* take_from_system(std::size_t bytes) {
    static std::mutex mutex;
    static std::byte* next = nullptr;
    static std::size_t left = 0;
    const std::lock_guard lock(mutex);
    ++fresh.count;
    fresh.largest = std::max(fresh.largest, static_cast<std::int64_t>(bytes));
    if (bytes >= large_block) return take_piece(bytes);
    bytes = (bytes + line - 1) / line * line;
    if (left < bytes) {
        next = static_cast<std::byte*>(take_piece(piece));
        left = piece;
    }
    left -= bytes;
    return std::exchange(next, next + bytes);
}

/// A large block.
void give_to_system(void* block, std::size_t) noexcept {
    ::operator delete(block, std::align_val_t(large_page));
}

Pool& host_pool() {  // outlives every tensor
    static Pool* const pool = new Pool(take_from_system, give_to_system, large_block);
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
    static Pool* const pool = new Pool(cuda::take, cuda::give, 0);
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
void Storage::copy(Storage& other, std::size_t first) {
    const auto from = [first](const void* p) { return static_cast<const std::byte*>(p) + first; };
    if (other.at_ & on_device)
        cuda::copy_on_device(device(true), from(other.device(false)), bytes_);
    else
        std::memcpy(host(true), from(other.host(false)), bytes_);
}

std::shared_ptr<Storage> make_storage(std::size_t bytes) {
    static auto* const handles = new std::pmr::synchronized_pool_resource;  // outlives every tensor
    return std::allocate_shared<Storage>(std::pmr::polymorphic_allocator<>(handles), bytes);
}

Transfers transfers() {
    return moved;
}

FreshBlocks fresh_blocks() {
    return std::exchange(fresh, {});
}

}  // namespace abh
