#include "lib/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
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
        {
            const std::lock_guard lock(mutex_);
            const std::size_t end = size.index() + std::min<std::size_t>(8, size.lines);
            for (std::size_t i = size.index(); i < end; ++i)
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
        if (!give_) return;
        const std::lock_guard lock(mutex_);
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
/// Large blocks. What waits lies in one list, in the order of addresses, and neighbours become one:
/// so the memory of one batch's large tensors serves another batch's, whatever their sizes are.
class Heap {
public:
    using Take = void* (*)(std::size_t);
    using Give = void (*)(void*, std::size_t) noexcept;

    /// @param piece  bytes to ask the system for, at least
    Heap(Take fresh, Give drop, std::size_t piece) : take_(fresh), give_(drop), piece_(piece) {}

    /// The beginning of the smallest block that is large enough.
    Block take(std::size_t bytes) {
        constexpr std::size_t page = 4096;
        bytes = (bytes + page - 1) / page * page;
        const std::lock_guard lock(mutex_);
        auto best = find(bytes);
        if (best == waiting_.end()) best = add_piece(bytes);
        const Block block{best->data, bytes};
        best->data += bytes;
        best->bytes -= bytes;
        if (best->bytes == 0) waiting_.erase(best);
        return block;
    }

    void give(Block block) noexcept {
        const std::lock_guard lock(mutex_);
        const Waiting own{static_cast<std::byte*>(block.data), block.bytes};
        auto next =
            std::lower_bound(waiting_.begin(), waiting_.end(), own,
                             [](const Waiting& a, const Waiting& b) { return a.data < b.data; });
        const bool joins_next = next != waiting_.end() && together(own, *next);
        if (next != waiting_.begin() && together(next[-1], own)) {
            next[-1].bytes += own.bytes;
            if (joins_next) {
                next[-1].bytes += next->bytes;
                waiting_.erase(next);
            }
        } else if (joins_next) {
            *next = {own.data, own.bytes + next->bytes};
        } else {
            waiting_.insert(next, own);
        }
    }

    // [blocks: heap, inside]
private:
    struct Waiting {
        std::byte* data;
        std::size_t bytes;
    };
    using Place = std::vector<Waiting>::iterator;

    Place find(std::size_t bytes) {
        auto best = waiting_.end();
        for (auto w = waiting_.begin(); w != waiting_.end(); ++w)
            if (w->bytes >= bytes && (best == waiting_.end() || w->bytes < best->bytes)) best = w;
        return best;
    }
    /// Whether `b` follows `a` in one piece.
    bool together(const Waiting& a, const Waiting& b) const noexcept {
        return a.data + a.bytes == b.data &&
               std::none_of(pieces_.begin(), pieces_.end(),
                            [&](const Waiting& piece) { return piece.data == b.data; });
    }
    Place add_piece(std::size_t bytes) {
        bytes = std::max(bytes, piece_);
        // room for all that can ever wait: to give a block back never asks for memory
        pieces_.reserve(pieces_.size() + 1);
        waiting_.reserve((total_ + bytes) / large_block + pieces_.size() + 2);
        void* data = nullptr;
        try {
            data = take_(bytes);
        } catch (const std::exception&) {  // perhaps there are pieces that nobody needs
            release();
            data = take_(bytes);
        }
        const Waiting piece{static_cast<std::byte*>(data), bytes};
        pieces_.push_back(piece);
        total_ += bytes;
        const auto next = std::find_if(waiting_.begin(), waiting_.end(),
                                       [&](const Waiting& w) { return w.data > piece.data; });
        return waiting_.insert(next, piece);
    }
    /// Gives the system those pieces back that wait as a whole.
    void release() noexcept {
        std::erase_if(pieces_, [&](const Waiting& piece) {
            return std::erase_if(waiting_, [&](const Waiting& w) {
                       if (w.data != piece.data || w.bytes != piece.bytes) return false;
                       give_(w.data, w.bytes);
                       total_ -= w.bytes;
                       return true;
                   }) > 0;
        });
    }

    Take take_;
    Give give_;
    std::size_t piece_;
    std::mutex mutex_;
    std::vector<Waiting> waiting_, pieces_;
    std::size_t total_ = 0;  ///< bytes of all pieces
};
// [blocks: pools]
std::atomic<std::int64_t> fresh_count, largest_block;

bool memory_is_checked = false;

/// For `check_memory`: full of NaN, and given back to the system when it is let go. An odd size
/// tells it from a block of the pools.
Block take_checked(std::size_t bytes) {
    bytes |= 1;
    void* const data = ::operator new(bytes, std::align_val_t(line));
    std::memset(data, 0xff, bytes);
    return {data, bytes};
}

bool is_checked(Block block) {
    return block.bytes % 2 == 1;
}

void give_checked(Block block) noexcept {
    ::operator delete(block.data, std::align_val_t(line));
}
// [blocks: pieces]
constexpr std::size_t large_page = 1 << 21;          // bytes
constexpr std::size_t piece = std::size_t{1} << 26;  // of the system's memory, in bytes

/// Memory that the system has not given yet, in large pages where it has some.
void* take_piece(std::size_t bytes) {
    ++fresh_count;
    void* const p = ::operator new(bytes, std::align_val_t(large_page));
#ifdef __linux__
    madvise(p, bytes, MADV_HUGEPAGE);  // a wish
#endif
    return p;
}

void give_piece(void* block, std::size_t) noexcept {
    ::operator delete(block, std::align_val_t(large_page));
}

Heap& host_heap() {  // outlives every tensor
    static Heap* const heap = new Heap(take_piece, give_piece, piece);
    return *heap;
}

/// Cuts small blocks from large pieces, one behind the other. Among the short-lived buffers of a
/// library, `malloc` would leave holes between them.
void* cut_small_block(std::size_t bytes) {
    static std::mutex mutex;
    static std::byte* next = nullptr;
    static std::size_t left = 0;
    const std::lock_guard lock(mutex);
    ++fresh_count;
    if (left < bytes) {
        next = static_cast<std::byte*>(host_heap().take(piece / 16).data);
        left = piece / 16;
    }
    left -= bytes;
    return std::exchange(next, next + bytes);
}

Pool& small_blocks() {
    static Pool* const pool = new Pool(cut_small_block);
    return *pool;
}

bool is_small(std::size_t bytes) {
    return SizeClass(bytes).bytes() < large_block;
}

/// A block is handed out.
void note(std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes);
    for (std::int64_t seen = largest_block; seen < size;)
        if (largest_block.compare_exchange_weak(seen, size)) return;
}

Pool& device_pool() {
    static Pool* const pool = new Pool(cuda::take, cuda::give);
    return *pool;
}

}  // namespace
// [blocks: take and give]
Block take(std::size_t bytes) {
    if (memory_is_checked) return take_checked(bytes);
    note(bytes);
    return is_small(bytes) ? small_blocks().take(bytes) : host_heap().take(bytes);
}

void give(Block block) noexcept {
    if (is_checked(block)) return give_checked(block);
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
