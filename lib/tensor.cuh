#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [tensor on the device]
// What tensor.cpp computes on the processor; it has checked all shapes.

void add(Tensor& sum, const Tensor& a, const Tensor& b);
void scale(Tensor& y, Real factor);
void add_column_sums(Tensor& sums, const Tensor& x);
double dot(const Tensor& a, const Tensor& b);
void transpose(Tensor& y, const Tensor& x);

}  // namespace abh::cuda
