#pragma once

#include <string>

namespace abh::cuda {
// [faults]
/// Kernels that are wrong, each in its own way.
enum class Fault {
    missing_barrier,    ///< reads shared memory before the others have written it
    divergent_barrier,  ///< only some threads of a block come to a barrier
    out_of_bounds,      ///< one thread too many
    unwritten,          ///< reads what nothing wrote
};

/// Runs such a kernel on the emulator. @return what it says
/// @throws std::invalid_argument on a real device, where nobody knows what would happen
std::string message_of(Fault fault);

}  // namespace abh::cuda
