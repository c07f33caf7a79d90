#pragma once

#include "lib/ranks/engine.hpp"

namespace abh {
// [nccl]
/// Whether this program was built with NCCL, and there is a GPU for each rank: no machine has more
/// ranks than GPUs. The same answer on each rank.
bool each_has_gpu(Engine& start);
/// The ranks of `start`, whose messages go from GPU to GPU by NCCL. One process per GPU: on each
/// machine the i-th rank takes device i, modulo the number of devices that it sees, as the current
/// one; so this comes before anything else that uses a device.
///
/// A message may stand in the memory of the processor or, faster, in that of the device.
/// NCCL does not tell ranks apart: until a transfer is complete, all its ranks are `missing`.
/// @param start  carries the ranks' first messages, and nothing after
/// @throws std::runtime_error in one line, as do all its exchanges: without NCCL or a device, or
///         with what NCCL or CUDA say
std::unique_ptr<Engine> make_nccl_engine(Engine& start);

}  // namespace abh
