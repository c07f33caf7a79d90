#pragma once

#include <string>

namespace abh::cuda {
// [faults]
/// Kernels that are wrong, each in its own way.
enum class Fault {
    missing_barrier,    ///< reads shared memory before other threads have written it
    divergent_barrier,  ///< only some threads of a block reach a barrier
    out_of_bounds,      ///< the threads beyond the last element read and write, too
    unwritten,          ///< reads elements that nothing has written
};

/// Runs such a kernel on the emulator. @return the emulator's message
/// @throws std::invalid_argument on a real device, where the behavior is undefined
std::string message_of(Fault fault);

}  // namespace abh::cuda
