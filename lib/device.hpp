#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/way.hpp"

namespace abh {
// [device]
/// Whether operations run on the device. Tensors follow by themselves: see `Storage`.
inline bool on_cuda() {
    return way() == Way::cuda;
}
/// The device by the name that its maker gave it; `cpu` for the processor.
std::string device_name();
/// Waits until the device has done all that it was asked for.
void synchronize();
// [transfers]
/// What went between the two memories since the program began.
struct Transfers {
    std::int64_t to_device = 0, to_host = 0;              ///< how often
    std::int64_t bytes_to_device = 0, bytes_to_host = 0;  ///< how much
};
Transfers transfers();
// [precision]
/// Whether products on the device may round their operands to TF32: 10 bits of 23. Off at the
/// start.
void set_tf32(bool allowed);

}  // namespace abh

namespace abh::cuda {
// [memory]
// The device's memory. Written twice: for a real device in runtime.cu, for the emulated one in
// emulator.cpp; a build without either has absent.cpp, where `open` throws.

/// Whether the processor plays the device.
extern const bool emulated;

/// Looks for a device. @throws std::runtime_error that says in one line what is missing
void open();
std::string name();

void* take(std::size_t bytes);
void give(void* block) noexcept;
/// Each address may be in the device's memory or in the processor's.
void copy_bytes(void* to, const void* from, std::size_t bytes);
void synchronize();

}  // namespace abh::cuda
