#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [nccl]
/// Each rank takes a GPU of its machine as the current one: the i-th rank device i, modulo the
/// number of devices that it sees. To be called before anything else that uses a device.
/// @return  whether no two ranks have the same one; false without NCCL, where nothing is taken. The
///          same answer on each rank
bool each_takes_gpu(Engine& start);
/// The ranks of `start`, whose messages go from GPU to GPU by NCCL, one process per GPU: each takes
/// one, as `each_takes_gpu` says.
///
/// A message may stand in the memory of the processor or, faster, in that of the device.
/// NCCL does not tell ranks apart: until a transfer is complete, all its ranks are `missing`.
/// @param start  carries the ranks' first messages, and nothing after
/// @throws std::runtime_error in one line, as do all its exchanges: without NCCL or a device, or
///         with what NCCL or CUDA say
std::unique_ptr<Engine> make_nccl_engine(Engine& start);

}  // namespace abh
