#pragma once

#include <string>
#include <vector>

#include "lib/device.hpp"
#include "lib/tensor.hpp"

namespace abh::cuda {
// [counts]
/// What the launches of one kernel asked of the memories. A request is what the threads of a warp
/// ask for at once: the same access, in the same turn of its loop.
struct KernelCount {
    std::string name;
    Index launches = 0, blocks = 0, threads = 0;
    Index bytes = 0;            ///< that threads read from and wrote to the device's memory
    Index requests = 0;         ///< for them
    Index sectors = 0;          ///< pieces of 32 bytes that these requests touch
    Index shared_requests = 0;  ///< of shared memory
    Index shared_turns = 0;     ///< that they need: words of one bank go one after another
    Index barriers = 0;         ///< waits of a whole block
};

namespace detail {
inline bool counting = false;
inline std::vector<KernelCount> counts;
}  // namespace detail

/// From here on the emulator counts, beginning at 0, or stops counting.
/// @return whether it can: a real device does not
inline bool count_kernels(bool on) {
    detail::counting = on;
    if (on) detail::counts.clear();
    return emulated;
}
/// Kernels in the order in which they were first launched.
inline std::vector<KernelCount> kernel_counts() {
    return detail::counts;
}

}  // namespace abh::cuda
