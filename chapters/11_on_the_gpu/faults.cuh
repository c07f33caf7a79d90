#pragma once

#include <string>
#include <vector>

namespace abh::cuda {
// [faults]
/// Runs four wrong kernels on the emulator. The first reads shared memory before other threads have
/// written it; in the second, only some threads of a block reach a barrier; in the third, the
/// threads beyond the last element read and write, too; the last reads what nothing has written.
/// @return what the emulator says about each of them
/// @throws std::invalid_argument on a real device, where the behavior is undefined
std::vector<std::string> messages_of_faults();

}  // namespace abh::cuda
