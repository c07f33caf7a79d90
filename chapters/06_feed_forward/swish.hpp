#pragma once

#include "lib/linear.hpp"

namespace abh {
// [swish]
/// `x / (1 + exp(-x))`, element by element: x times its logistic function, also called SiLU.
/// Ramachandran et al. 2017.
Tensor swish(const Tensor& x);
/// Gradient of `swish`: `dy s (1 + x (1 - s))` with `s = 1 / (1 + exp(-x))`.
/// @param x  the argument of `swish`
/// @throws std::invalid_argument if the shapes differ
Tensor swish_backward(const Tensor& dy, const Tensor& x);
/// `map.backward(swish_backward(dy, h), cache)`. @param h  what `map.forward` returned
Tensor linear_swish_backward(const Tensor& dy, const Tensor& h, Linear& map,
                             const Linear::Cache& cache);

}  // namespace abh
