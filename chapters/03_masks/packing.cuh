#pragma once

#include "chapters/03_masks/packing.hpp"

namespace abh::cuda {
// [packing on the device]
// What packing.cpp computes on the processor; it has checked all shapes.

void pack(Tensor& y, const Tensor& x, const Packing& packing);
void unpack(Tensor& y, const Tensor& x, const Packing& packing);

}  // namespace abh::cuda
