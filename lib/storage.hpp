#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace abh::memory {
// [memory]
/// A block and its size, which may be more than was asked for. Its address is a multiple of 64, and
/// its contents are whatever was left there.
struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
};
/// Blocks of the processor's memory, or of the device's. Those given back are used again, so a warm
/// training step asks the system for no memory.
Block take(std::size_t bytes);
void give(Block block) noexcept;
Block take_on_device(std::size_t bytes);
void give_on_device(Block block) noexcept;
// [memory: checks]
/// For tests: from here on, each block is a fresh one, and on the processor full of NaN, so that it
/// shows when an element is read before it is written.
void check();

}  // namespace abh::memory
namespace abh {
// [storage]
/// The elements of a tensor: in the processor's memory, in the device's, or the same in both.
///
/// Each side gets the elements when it asks; if the other side wrote them last, they are copied
/// first. So a tensor belongs to no device, and a training step on the device copies only what a
/// side has not seen: the ids of a batch and, on the way back, the loss. Elements are not
/// initialized.
class Storage {
public:
    explicit Storage(std::size_t bytes);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    /// The elements in the processor's memory, for reading or, with `write`, for writing too.
    void* host(bool write) {
        if (write && has_kept_.load(std::memory_order_relaxed)) forget();
        return on_host_only() ? host_.data : fetch_to_host(write);
    }
    /// The elements in the device's memory.
    void* device(bool write);
    /// Fills this with bytes of `other` from byte `first` on, in the memory that `other` is in.
    void copy(Storage& other, std::size_t first);
    // [storage: kept]
    /// Something computed from the elements, such as the same numbers in fewer bits.
    struct Kept {
        virtual ~Kept() = default;
    };
    /// What was last given to `keep`; null if the elements have been written since then.
    std::shared_ptr<Kept> kept() const;
    void keep(std::shared_ptr<Kept> computed);
    std::size_t bytes() const { return bytes_; }
    // [storage: state]
private:
    static constexpr unsigned char nowhere = 0, on_host = 1, on_device = 2, on_both = 3;

    bool on_host_only() const { return never_on_device_.load(std::memory_order_relaxed); }
    bool is_on_device() const;
    void forget();  ///< drops what is kept
    void* fetch_to_host(bool write);

    unsigned char at_ = nowhere;                 ///< where the elements are
    std::atomic<bool> never_on_device_ = false;  ///< if so, only `host_` exists, and needs no lock
    std::size_t bytes_;
    memory::Block host_, device_;  ///< each of `bytes_` or more
    std::atomic<bool> has_kept_ = false;
    std::shared_ptr<Kept> kept_;
};
// [storage: make]
/// A storage whose handle, too, is in memory that is reused.
std::shared_ptr<Storage> make_storage(std::size_t bytes);

}  // namespace abh
