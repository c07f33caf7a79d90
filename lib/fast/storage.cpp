#include "lib/fast/storage.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "lib/cuda/device.hpp"
#include "lib/cuda/runtime.hpp"

namespace abh {
// [blocks]
namespace {

constexpr std::size_t line = 64;  // bytes that memory sends at once

/// Sizes of blocks, eight from each power of two to the next: so tensors whose sizes differ a
/// little, as batches do, share blocks, and at most an eighth of one is never used.
struct SizeClass {
    std::size_t shift;  ///< a block has `lines << shift` lines
    std::size_t lines;  ///< 8 to 16, or fewer where shift is 0

    explicit SizeClass(std::size_t bytes) {
        const std::size_t all = std::max<std::size_t>(1, (bytes + line - 1) / line);
        shift = static_cast<std::size_t>(std::max(0, static_cast<int>(std::bit_width(all)) - 4));
        lines = (all + (std::size_t{1} << shift) - 1) >> shift;
    }
    std::size_t bytes() const { return (lines << shift) * line; }
    std::size_t index() const { return 8 * shift + lines; }
};

/// A block and its size, which may be more than was asked for.
struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
};

/// Freed blocks by size, waiting to be used again.
class Pool {
public:
    using Take = void* (*)(std::size_t);
    using Give = void (*)(void*, std::size_t) noexcept;

    /// @param smallest  bytes of the smallest block that can be given back
    Pool(Take fresh, Give drop, std::size_t smallest)
        : take_(fresh), give_(drop), smallest_(smallest) {}

    /// A block that waits, if there is one that is not twice as large as need be; or a fresh one.
    Block take(std::size_t bytes) {
        const SizeClass size(bytes);
        {
            const std::lock_guard lock(mutex_);
            for (std::size_t i = size.index(); i < size.index() + 8; ++i)
                if (!free_[i].empty()) {
                    const Block block = free_[i].back();
                    free_[i].pop_back();
                    return block;
                }
        }
        {  // room for all blocks of this size to wait: to give one back never asks for memory
            const std::lock_guard lock(mutex_);
            const std::size_t made = ++made_[size.index()];
            std::vector<Block>& blocks = free_[size.index()];
            if (blocks.capacity() < made) blocks.reserve(2 * made);
        }
        try {
            return {take_(size.bytes()), size.bytes()};
        } catch (const std::exception&) {  // perhaps other sizes have it all
            clear();
            return {take_(size.bytes()), size.bytes()};
        }
    }

    void give(Block block) noexcept {
        const std::lock_guard lock(mutex_);
        free_[SizeClass(block.bytes).index()].push_back(block);
    }

private:
    /// Gives waiting blocks back.
    void clear() {
        const std::lock_guard lock(mutex_);
        for (std::vector<Block>& blocks : free_)
            if (!blocks.empty() && blocks.front().bytes >= smallest_) {
                for (const Block& block : blocks) give_(block.data, block.bytes);
                blocks.clear();
            }
    }

    Take take_;
    Give give_;
    std::size_t smallest_;
    std::mutex mutex_;
    std::array<std::vector<Block>, 512> free_;
    std::array<std::size_t, 512> made_{};  ///< blocks of each size
};
// [blocks: pools]
FreshBlocks fresh;

#ifdef ABH_CHECK_MEMORY  // for tests: every block is fresh and full of NaN, so that misuse shows
Block take_host(std::size_t bytes) {
    void* const data = ::operator new(bytes, std::align_val_t(line));
    std::memset(data, 0xff, bytes);
    return {data, bytes};
}

void give_host(Block block) noexcept {
    ::operator delete(block.data, std::align_val_t(line));
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

Block take_host(std::size_t bytes) {
    return host_pool().take(bytes);
}

void give_host(Block block) noexcept {
    host_pool().give(block);
}
#endif

Pool& device_pool() {
    static Pool* const pool = new Pool(cuda::take, cuda::give, 0);
    return *pool;
}

/// The emulator's blocks are always fresh: then it knows what nothing wrote, and what is gone.
Block take_device(std::size_t bytes) {
    return cuda::emulated ? Block{cuda::take(bytes), bytes} : device_pool().take(bytes);
}

void give_device(Block block) noexcept {
    cuda::emulated ? cuda::give(block.data, block.bytes) : device_pool().give(block);
}

std::mutex moving;  // held while elements go from one memory to the other
Transfers moved;

}  // namespace
// [storage]
Storage::Storage(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    if (on_cuda()) return;  // whoever writes first decides
    take_on_host();
    at_ = on_host;
    never_on_device_ = true;
}

Storage::~Storage() {
    if (host_) give_host({host_, host_bytes_});
    if (device_) give_device({device_, device_bytes_});
}

void Storage::take_on_host() {
    const Block block = take_host(bytes_);
    host_ = block.data;
    host_bytes_ = block.bytes;
}
// [storage: fetch]
void* Storage::fetch_to_host(bool write) {
    const std::lock_guard lock(moving);
    if (!host_) take_on_host();
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
    if (!device_) {
        const Block block = take_device(bytes_);
        device_ = block.data;
        device_bytes_ = block.bytes;
    }
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
