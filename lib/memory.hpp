#pragma once

#include <cstddef>
#include <cstdint>

namespace abh::memory {
// [memory]
/// A block and its size, which may be more than was asked for. It begins with a multiple of 64
/// bytes; its contents are what somebody left there.
struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
};
/// Of the processor's memory, or the device's. Blocks that are given back serve again, so a warm
/// training step asks the system for none.
Block take(std::size_t bytes);
void give(Block block) noexcept;
Block take_on_device(std::size_t bytes);
void give_on_device(Block block) noexcept;
// [memory: checks]
/// For tests: from now on each block is fresh and full of NaN, so that it shows when elements are
/// read that nothing wrote.
void check();

/// What was asked of the processor's memory.
struct FreshBlocks {
    std::int64_t count = 0;    ///< pieces of the system's memory
    std::int64_t largest = 0;  ///< bytes of the largest block, new or not
};
/// Since the last call.
FreshBlocks fresh_blocks();

}  // namespace abh::memory
