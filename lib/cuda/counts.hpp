#pragma once

#include <string>
#include <vector>

#include "lib/device.hpp"
#include "lib/tensor.hpp"

namespace abh::cuda {
// [counts]
/// How the launches of one kernel used the memories. A request is what the threads of a warp access
/// at once: in the same line of code, in the same turn of its loop.
struct KernelCount {
    std::string name;
    Index launches = 0, blocks = 0, threads = 0;
    Index bytes = 0;            ///< that threads read from and wrote to the device's memory
    Index requests = 0;         ///< for these bytes
    Index sectors = 0;          ///< pieces of 32 bytes that these requests touch
    Index shared_requests = 0;  ///< of shared memory
    Index shared_turns = 0;     ///< that these take: words of one bank go one after another
    Index barriers = 0;         ///< at which a whole block waited
};

namespace detail {
inline bool counting = false;
inline std::vector<KernelCount> counts;
}  // namespace detail

/// Makes the emulator count from here on, beginning at 0, or stop counting.
/// @return whether the device is emulated, because a real one counts nothing
inline bool count_kernels(bool on) {
    detail::counting = on;
    if (on) detail::counts.clear();
    return device().emulated();
}
/// Kernels in the order in which they were first launched.
inline std::vector<KernelCount> kernel_counts() {
    return detail::counts;
}

}  // namespace abh::cuda
