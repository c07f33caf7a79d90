#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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
namespace abh {
// [storage]
/// The elements of a tensor: in the processor's memory, in the device's, or the same in both.
///
/// Each side gets them when it asks: what was written on the other side last is copied first.
/// So a tensor belongs to no device, and a training step on the device sends over what the device
/// has not seen, a batch's ids and masks, and nothing else. Elements are not initialized.
///
/// Blocks of memory are 64-byte aligned.
class Storage {
public:
    explicit Storage(std::size_t bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    /// The elements in the processor's memory, to be read, or, with `write`, changed too.
    void* host(bool write) { return never_on_device_ ? host_.data : fetch_to_host(write); }
    /// The elements in the device's memory.
    void* device(bool write);
    /// Makes this a copy of as many bytes of `other`, from byte `first` on, where `other` is.
    void copy(Storage& other, std::size_t first);

private:
    static constexpr unsigned char nowhere = 0, on_host = 1, on_device = 2, on_both = 3;

    void* fetch_to_host(bool write);

    unsigned char at_ = nowhere;    ///< where the elements are
    bool never_on_device_ = false;  ///< then `host_` is all there is, and needs no lock
    std::size_t bytes_;
    memory::Block host_, device_;  ///< of `bytes_` or more
};
// [storage: make]
/// A storage whose handle, too, lies in memory that is used again.
std::shared_ptr<Storage> make_storage(std::size_t bytes);

}  // namespace abh
