#pragma once

#include "chapters/14_on_many_machines/ranks/engine.hpp"

namespace abh {
// [nccl]
/// Makes each rank take a GPU of its machine as its current one: the machine's i-th rank takes
/// device i, modulo the number of devices that it sees. Call it before anything that uses a device.
/// @return  whether every rank has a GPU of its own, with the same answer on each rank; without
///          NCCL, false, and no GPU is taken
bool each_takes_gpu(Engine& start);
/// An engine for the ranks of `start` whose messages go from GPU to GPU by NCCL. There is one
/// process per GPU, which it takes as `each_takes_gpu` describes.
///
/// A message may lie in the processor's memory or, which is faster, in the device's.
/// NCCL does not tell ranks apart: until a transfer is complete, all its ranks are `missing`.
/// @param start  carries the ranks' first messages; not used after that
/// @throws std::runtime_error in one line, as do all its exchanges: without NCCL or a device, or
///         with an error of NCCL or CUDA
std::unique_ptr<Engine> make_nccl_engine(Engine& start);

}  // namespace abh
