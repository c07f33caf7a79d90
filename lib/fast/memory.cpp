#include "lib/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "lib/device.hpp"

namespace abh::memory {
// [blocks]
namespace {

constexpr std::size_t line = 64;              // bytes that memory sends at once
constexpr std::size_t large_block = 1 << 16;  // bytes from which on a block is part of a heap

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

/// Freed blocks by size, waiting to be used again.
class Pool {
public:
    using Take = void* (*)(std::size_t);
    using Give = void (*)(void*, std::size_t) noexcept;

    /// @param drop  gives a block back to the system; null: there is no way
    explicit Pool(Take fresh, Give drop = nullptr) : take_(fresh), give_(drop) {}

    /// A block that waits, if there is one that is not twice as large as need be; or a fresh one.
    Block take(std::size_t bytes) {
        const SizeClass size(bytes);
        const std::lock_guard lock(mutex_);
        const std::size_t first = size.index();
        for (std::size_t i = first; i < first + std::min<std::size_t>(8, size.lines); ++i)
            if (!free_[i].empty()) {
                const Block block = free_[i].back();
                free_[i].pop_back();
                return block;
            }
        // room for all blocks of this size to wait: to give one back never asks for memory
        if (free_[first].capacity() < ++made_[first]) free_[first].reserve(2 * made_[first]);
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
        if (!give_) return;
        for (std::vector<Block>& blocks : free_) {
            for (const Block& block : blocks) give_(block.data, block.bytes);
            blocks.clear();
        }
    }

    Take take_;
    Give give_;
    std::mutex mutex_;
    std::array<std::vector<Block>, 512> free_;
    std::array<std::size_t, 512> made_{};  ///< blocks of each size
};
// [blocks: heap]
constexpr std::size_t large_page = 1 << 21;          // bytes
constexpr std::size_t piece = std::size_t{1} << 26;  // of the system's memory, in bytes

std::atomic<std::int64_t> fresh_count, largest_block;

/// Large blocks. What waits lies in one list, in the order of addresses, and neighbours become one:
/// so the memory of one batch's large tensors serves another batch's, whatever their sizes are.
class Heap {
public:
    /// The beginning of the smallest stretch that is large enough.
    Block take(std::size_t bytes) {
        constexpr std::size_t page = 4096;
        bytes = (bytes + page - 1) / page * page;
        const std::lock_guard lock(mutex_);
        auto best = waiting_.end();
        for (auto w = waiting_.begin(); w != waiting_.end(); ++w)
            if (w->bytes >= bytes && (best == waiting_.end() || w->bytes < best->bytes)) best = w;
        if (best == waiting_.end()) best = add_piece(std::max(bytes, piece));
        const Block block{best->data, bytes};
        best->data += bytes;
        best->bytes -= bytes;
        if (best->bytes == 0) waiting_.erase(best);
        return block;
    }

    void give(Block block) noexcept {
        const std::lock_guard lock(mutex_);
        const auto own = insert({static_cast<std::byte*>(block.data), block.bytes});
        if (own + 1 != waiting_.end()) join(own);
        if (own != waiting_.begin()) join(own - 1);
    }

    // [blocks: heap, inside]
private:
    struct Stretch {
        std::byte* data;
        std::size_t bytes;
    };
    using Place = std::vector<Stretch>::iterator;

    Place insert(Stretch own) {
        const auto next = std::ranges::upper_bound(waiting_, own.data, {}, &Stretch::data);
        return waiting_.insert(next, own);
    }
    /// Makes one stretch of this and the next if no byte lies between.
    void join(Place first) {
        const Place next = first + 1;
        if (first->data + first->bytes != next->data) return;
        first->bytes += next->bytes;
        waiting_.erase(next);
    }
    /// Memory that the system has not given yet, in large pages where it has some.
    Place add_piece(std::size_t bytes) {
        total_ += bytes;
        ++pieces_;
        // room for all that can ever wait: to give a block back never asks for memory
        waiting_.reserve(total_ / large_block + pieces_ + 1);
        ++fresh_count;
        void* const data = ::operator new(bytes, std::align_val_t(large_page));
#ifdef __linux__
        madvise(data, bytes, MADV_HUGEPAGE);  // a wish
#endif
        return insert({static_cast<std::byte*>(data), bytes});
    }

    std::mutex mutex_;
    std::vector<Stretch> waiting_;
    std::size_t total_ = 0, pieces_ = 0;  ///< bytes that the system has given, in so many pieces
};
// [blocks: pools]
Heap& host_heap() {  // outlives every tensor
    static Heap* const heap = new Heap;
    return *heap;
}

/// Cuts small blocks from large ones, one behind the other. Among the short-lived buffers of a
/// library, `malloc` would leave holes between them.
void* cut_small_block(std::size_t bytes) {
    static std::mutex mutex;
    static Block rest;
    const std::lock_guard lock(mutex);
    ++fresh_count;
    if (rest.bytes < bytes) rest = host_heap().take(piece / 16);
    rest.bytes -= bytes;
    return std::exchange(rest.data, static_cast<std::byte*>(rest.data) + bytes);
}

Pool& small_blocks() {
    static Pool* const pool = new Pool(cut_small_block);
    return *pool;
}

Pool& device_pool() {
    static Pool* const pool = new Pool(cuda::take, cuda::give);
    return *pool;
}

bool memory_is_checked = false;

/// For `check`: full of NaN, and given back to the system when it is let go. An odd size tells it
/// from a block of the pools.
Block take_checked(std::size_t bytes) {
    bytes |= 1;
    return {std::memset(::operator new(bytes, std::align_val_t(line)), 0xff, bytes), bytes};
}

}  // namespace
// [blocks: take and give]
Block take(std::size_t bytes) {
    if (memory_is_checked) return take_checked(bytes);
    const auto size = static_cast<std::int64_t>(bytes);
    for (std::int64_t seen = largest_block; seen < size;)
        if (largest_block.compare_exchange_weak(seen, size)) break;
    return SizeClass(bytes).bytes() < large_block ? small_blocks().take(bytes)
                                                  : host_heap().take(bytes);
}

void give(Block block) noexcept {
    if (block.bytes % 2 == 1)
        ::operator delete(block.data, std::align_val_t(line));
    else
        block.bytes < large_block ? small_blocks().give(block) : host_heap().give(block);
}

/// The emulator's blocks are always fresh: then it knows what nothing wrote, and what is gone.
Block take_on_device(std::size_t bytes) {
    return cuda::emulated ? Block{cuda::take(bytes), bytes} : device_pool().take(bytes);
}

void give_on_device(Block block) noexcept {
    cuda::emulated ? cuda::give(block.data, block.bytes) : device_pool().give(block);
}

void check() {
    memory_is_checked = true;
}

FreshBlocks fresh_blocks() {
    return {fresh_count.exchange(0), largest_block.exchange(0)};
}

}  // namespace abh::memory
