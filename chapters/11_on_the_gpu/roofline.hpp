#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [roofline]
/// Prints what the parts of a training step do for each byte of device memory.
void show_roofline(Results& results);
/// Prints, for some kernels of this chapter, operations per byte of three memories, and which of an
/// H200's roofs is the lowest there. Does nothing on a real device, because that does not count.
void show_bounds(std::uint64_t seed, Results& results);

}  // namespace abh
