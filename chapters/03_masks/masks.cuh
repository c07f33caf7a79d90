#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [masks on the device]
// What masks.cpp computes on the processor; it has checked all shapes.

void padding_mask(Mask& mask, const Ids& keys, std::int32_t pad);
void look_ahead_mask(Mask& mask);
void either(Mask& result, const Mask& a, const Mask& b);
void invert(Mask& result, const Mask& mask);

}  // namespace abh::cuda
