#pragma once

#include <string>
#include <vector>

#include "lib/device.hpp"
#include "lib/tensor.hpp"

namespace abh::cuda {
// [counts]
/// What the launches of one kernel asked of the memories. One request serves all threads of a warp
/// that make the same access in the same turn of its loop.
struct KernelCount {
    std::string name;
    Index launches = 0, blocks = 0, threads = 0;
    Index bytes = 0;            ///< read from and written to the device's memory by threads
    Index requests = 0;         ///< of the device's memory
    Index sectors = 0;          ///< pieces of 32 bytes that these requests touch
    Index shared_requests = 0;  ///< of shared memory
    Index shared_turns = 0;     ///< they take: words of one bank are served one by one
    Index barriers = 0;         ///< waits of a whole block
};

namespace detail {
inline bool counting = false;
inline std::vector<KernelCount> counts;
}  // namespace detail

/// Makes the emulator count from 0 on, or stop counting.
/// @return whether it can: a real device cannot
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
