#include "lib/storage.hpp"

#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <mutex>

#include "lib/device.hpp"

namespace abh {
namespace {

std::mutex moving;  // held while elements are copied between the memories, or asked where they are
Transfers moved;

}  // namespace
// [storage]
Storage::Storage(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    if (on_cuda()) return;  // the side that writes first decides
    host_ = memory::take(bytes_);
    at_ = on_host;
    never_on_device_.store(true, std::memory_order_relaxed);
}

Storage::~Storage() {
    if (host_.data) memory::give(host_);
    if (device_.data) memory::give_on_device(device_);
}
// [storage: fetch]
void* Storage::fetch_to_host(bool write) {
    const std::lock_guard lock(moving);
    if (!host_.data) host_ = memory::take(bytes_);
    if (at_ == on_device) {
        cuda::device().copy_bytes(host_.data, device_.data, bytes_);
        ++moved.to_host;
        moved.bytes_to_host += static_cast<std::int64_t>(bytes_);
    }
    at_ = write || at_ == nowhere ? on_host : at_ | on_host;
    return host_.data;
}

void* Storage::device(bool write) {
    if (write) forget();
    const std::lock_guard lock(moving);
    never_on_device_.store(false, std::memory_order_relaxed);
    if (!device_.data) device_ = memory::take_on_device(bytes_);
    if (at_ == on_host) {
        cuda::device().send(device_.data, host_.data, bytes_);
        ++moved.to_device;
        moved.bytes_to_device += static_cast<std::int64_t>(bytes_);
    }
    at_ = write || at_ == nowhere ? on_device : at_ | on_device;
    return device_.data;
}
// [storage: kept]
std::shared_ptr<Storage::Kept> Storage::kept() const {
    const std::lock_guard lock(moving);
    return kept_;
}

void Storage::forget() {
    keep(nullptr);
}

void Storage::keep(std::shared_ptr<Kept> computed) {
    const std::lock_guard lock(moving);
    kept_.swap(computed);
    has_kept_.store(kept_ != nullptr, std::memory_order_relaxed);
}
// [storage: copy and transfers]
bool Storage::is_on_device() const {
    if (on_host_only()) return false;
    const std::lock_guard lock(moving);
    return at_ & on_device;
}

void Storage::copy(Storage& other, std::size_t first) {
    const auto from = [first](const void* p) { return static_cast<const std::byte*>(p) + first; };
    if (other.is_on_device())
        cuda::device().copy_bytes(device(true), from(other.device(false)), bytes_);
    else
        std::memcpy(host(true), from(other.host(false)), bytes_);
}

std::shared_ptr<Storage> make_storage(std::size_t bytes) {
    static auto* const handles = new std::pmr::synchronized_pool_resource;  // outlives every tensor
    return std::allocate_shared<Storage>(std::pmr::polymorphic_allocator<>(handles), bytes);
}

Transfers transfers() {
    const std::lock_guard lock(moving);
    return moved;
}

}  // namespace abh
