#pragma once

#include "chapters/09_training/loss.hpp"

namespace abh::cuda {
// [loss on the device]
/// The sum of the losses of all rows; `loss.cpp` has checked shapes and targets.
/// @param probabilities  `[rows, n_words]`, receives softmax of the logits; null: nobody needs it
double cross_entropy(Tensor* probabilities, const Tensor& logits, const Ids& targets,
                     const CrossEntropyOptions& options);
void cross_entropy_backward(Tensor& dlogits, const CrossEntropyCache& cache);

}  // namespace abh::cuda
