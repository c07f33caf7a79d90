#pragma once

#include "chapters/09_training/likeliest.hpp"

namespace abh::cuda {
// [likeliest on the device]
void likeliest(BasicTensor<Choice>& choices, const Tensor& logits);

}  // namespace abh::cuda
