#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [positions on the device]
/// `y[b, l] = x[b, l] + table[first + l]`.
void add_positions(Tensor& y, const Tensor& x, const Tensor& table, Index first);
/// `dtable[first + l] += sum of dx[b, l] over b`.
void add_up_positions(Tensor& dtable, const Tensor& dx, Index first);

}  // namespace abh::cuda
