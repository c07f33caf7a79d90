#pragma once

#include "chapters/02_positional_encoding/dropout.hpp"

namespace abh::cuda {
// [dropout on the device]
/// Draws `kept`, the elements that the processor would draw, and applies it.
void dropout(Tensor& y, Mask& kept, const Tensor& x, const Dropout& dropout);
/// `y = x * kept * factor`.
void apply_dropout(Tensor& y, const Tensor& x, const Mask& kept, Real factor);

}  // namespace abh::cuda
