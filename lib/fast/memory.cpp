#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>

#include "lib/storage.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "lib/device.hpp"

namespace abh::memory {
// [blocks]
namespace {

constexpr std::size_t line = 64;                     // bytes that memory sends at once
constexpr std::size_t large_block = 1 << 16;         // bytes from which on a block is large
constexpr std::size_t large_page = 1 << 21;          // bytes
constexpr std::size_t piece = std::size_t{1} << 26;  // bytes to ask the system for at once

/// Blocks cut from pieces. The free memory is in one list, in the order of addresses, and neighbors
/// are joined, so the memory of one batch's tensors is reused for the next, whatever their sizes.
class Heap {
public:
    using Fresh = void* (*)(std::size_t bytes);

    /// @param fresh  allocates a piece
    /// @param unit   every size is rounded up to a multiple of this many bytes
    Heap(Fresh fresh, std::size_t unit, std::size_t bytes_of_piece)
        : fresh_(fresh), unit_(unit), piece_(bytes_of_piece) {}

    /// Takes the beginning of the smallest stretch that is large enough.
    Block take(std::size_t bytes) {
        bytes = std::max<std::size_t>(1, (bytes + unit_ - 1) / unit_) * unit_;
        const std::lock_guard lock(mutex_);
        auto best = free_.end();
        for (auto f = free_.begin(); f != free_.end(); ++f)
            if (f->second >= bytes && (best == free_.end() || f->second < best->second)) best = f;
        if (best == free_.end()) best = add_piece(bytes);
        const auto [data, size] = *best;
        free_.erase(best);
        if (size > bytes) free_.emplace(data + bytes, size - bytes);
        return {data, bytes};
    }

    void give(Block block) noexcept {
        const std::lock_guard lock(mutex_);
        const auto own = free_.emplace(static_cast<std::byte*>(block.data), block.bytes).first;
        join(own);
        if (own != free_.begin()) join(std::prev(own));
    }

    // [blocks: inside]
private:
    using Stretches = std::pmr::map<std::byte*, std::size_t>;  // where they begin, and their bytes

    /// Joins this stretch and the next if no byte lies between them.
    void join(Stretches::iterator first) {
        const auto next = std::next(first);
        if (next == free_.end() || first->first + first->second != next->first) return;
        first->second += next->second;
        free_.erase(next);
    }
    /// Adds a piece for these bytes, which is no larger than they are if the device has no room.
    Stretches::iterator add_piece(std::size_t bytes) {
        std::size_t size = std::max(bytes, piece_);
        void* data = nullptr;
        try {
            data = fresh_(size);
        } catch (const cuda::OutOfMemory&) {
            if (size == bytes) throw;
            data = fresh_(size = bytes);
        }
        return free_.emplace(static_cast<std::byte*>(data), size).first;
    }

    Fresh fresh_;
    std::size_t unit_, piece_;
    std::mutex mutex_;
    std::pmr::monotonic_buffer_resource room_{1 << 16};  // for some hundred stretches, at first
    std::pmr::unsynchronized_pool_resource nodes_{&room_};
    Stretches free_{&nodes_};
};
// [blocks: heaps]
/// Fresh memory from the system, in large pages if it has any.
void* from_system(std::size_t bytes) {
    void* const data = ::operator new(bytes, std::align_val_t(large_page));
#ifdef __linux__
    madvise(data, bytes, MADV_HUGEPAGE);  // a hint
#endif
    return data;
}

Heap& large_blocks() {  // outlives every tensor, like the other heaps
    static Heap* const heap = new Heap(from_system, 4096, piece);
    return *heap;
}

Heap& small_blocks() {
    static Heap* const heap = new Heap(
        [](std::size_t bytes) { return large_blocks().take(bytes).data; }, line, piece / 16);
    return *heap;
}

Heap& device_blocks() {
    static Heap* const heap =
        new Heap([](std::size_t bytes) { return cuda::device().take(bytes); }, 256, piece);
    return *heap;
}

bool memory_is_checked = false;

/// For `check`: a block full of NaN, which goes back to the system when it is given back. Its odd
/// size distinguishes it from a block of the heaps.
Block take_checked(std::size_t bytes) {
    bytes |= 1;
    return {std::memset(::operator new(bytes, std::align_val_t(line)), 0xff, bytes), bytes};
}

}  // namespace
// [blocks: take and give]
Block take(std::size_t bytes) {
    if (memory_is_checked) return take_checked(bytes);
    return bytes < large_block - line ? small_blocks().take(bytes) : large_blocks().take(bytes);
}

void give(Block block) noexcept {
    if (block.bytes % 2 == 1)
        ::operator delete(block.data, std::align_val_t(line));
    else
        block.bytes < large_block ? small_blocks().give(block) : large_blocks().give(block);
}

/// The emulator's blocks are always fresh, and in tests those of a real device are, so that the
/// emulator or compute-sanitizer can detect reads of memory that nothing wrote, that lies beyond a
/// block, or that has been given back.
bool fresh_on_device() {
    return cuda::device().emulated() || memory_is_checked;
}

Block take_on_device(std::size_t bytes) {
    return fresh_on_device() ? Block{cuda::device().take(bytes), bytes}
                             : device_blocks().take(bytes);
}

void give_on_device(Block block) noexcept {
    fresh_on_device() ? cuda::device().give(block.data) : device_blocks().give(block);
}

void check() {
    memory_is_checked = true;
}

}  // namespace abh::memory
