#pragma once

#include "lib/linear.hpp"

namespace abh {
// [relu]
/// `max(x, 0)`, element by element; NaN stays NaN.
Tensor relu(const Tensor& x);
/// Gradient of `relu`: `dy` where `y > 0`, else 0.
/// @param y  what `relu` returned
/// @throws std::invalid_argument if the shapes differ
Tensor relu_backward(const Tensor& dy, const Tensor& y);
// [linear and relu]
/// `relu(map.forward(x, cache))`.
Tensor linear_relu(const Tensor& x, const Linear& map, Linear::Cache* cache = nullptr);
/// `map.backward(relu_backward(dy, y), cache)`. @param y  what `linear_relu` returned
Tensor linear_relu_backward(const Tensor& dy, const Tensor& y, Linear& map,
                            const Linear::Cache& cache);

}  // namespace abh
