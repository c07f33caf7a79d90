#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "lib/way.hpp"

namespace abh {
// [device]
/// Whether operations run on the device. Tensors move there on their own: see `Storage`.
inline bool on_cuda() {
    return way() == Way::cuda;
}
/// The device's name, or `cpu` unless the way is `cuda`.
std::string device_name();
/// Waits until the device has finished everything that it was asked to do. Does nothing unless the
/// way is `cuda`.
void synchronize();
// [transfers]
/// What tensors have copied between the two memories since the program began.
struct Transfers {
    std::int64_t to_device = 0, to_host = 0;              ///< number of copies
    std::int64_t bytes_to_device = 0, bytes_to_host = 0;  ///< their bytes in total
};
Transfers transfers();
// [precision]
/// Sets whether matrix products on the device may round their operands to TF32, which keeps 10 of
/// the 23 bits of a float's fraction. Off at the start.
void set_tf32(bool allowed);
/// Whether the device multiplies in bf16.
bool device_has_bf16();

}  // namespace abh

namespace abh {
struct Product;
}
namespace abh::cuda {
// [interface]
struct Epilogue;
struct Factors16;

/// What `take` throws if the device has too little memory left.
struct OutOfMemory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What a device must offer besides launches. Each build has one: a real device (runtime.cu), the
/// emulated one (emulated/runtime.cpp), or neither (absent.cpp), and then `open` throws.
class Device {
public:
    virtual ~Device() = default;

    /// Looks for the device. @throws std::runtime_error that says in one line what is missing
    virtual void open() = 0;
    virtual std::string name() = 0;
    /// Whether the processor emulates it.
    virtual bool emulated() const = 0;
    /// Whether it multiplies in bf16: from compute capability 8.0 on.
    virtual bool has_bf16() = 0;

    virtual void* take(std::size_t bytes) = 0;
    virtual void give(void* block) noexcept = 0;
    /// Both `to` and `from` may point into the device's memory or into the processor's.
    virtual void copy_bytes(void* to, const void* from, std::size_t bytes) = 0;
    /// Copies from the processor's memory to the device's. `from` may change at once, even if the
    /// copy goes on until the kernels run that are launched next.
    virtual void send(void* to, const void* from, std::size_t bytes) = 0;
    virtual void synchronize() = 0;

    /// Computes `batch` products. Their matrices follow those of `first` without gaps. Sums and
    /// results are in single precision, whatever the factors are in.
    /// @return  false if nothing was computed, because the library cannot do what the epilogue asks
    ///          for along with this product, or would hide NaN
    virtual bool multiply(const Product& first, std::int64_t batch, const Epilogue& epilogue,
                          const Factors16& factors) = 0;
    /// The time of what `work` asks the device to do, or 0 where time means nothing.
    virtual double milliseconds(const std::function<void()>& work) {
        work();
        return 0;
    }
};

/// The device of this build.
Device& device();

}  // namespace abh::cuda
