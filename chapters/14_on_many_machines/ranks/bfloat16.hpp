#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [bfloat16]
/// The upper half of a `float`: its sign, its exponent, and 7 of the 23 bits of its fraction.
using Bfloat16 = Eigen::bfloat16;

/// The elements of x, each rounded to nearest: it changes by a factor of 1 - 2^-8 to 1 + 2^-8.
std::vector<Bfloat16> to_bfloat16(const Tensor& x);
/// Sets the elements of x to these numbers, one for each.
void assign(Tensor& x, std::span<const Bfloat16> numbers);

}  // namespace abh
