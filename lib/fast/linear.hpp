#pragma once

#include "lib/linear.hpp"

namespace abh {
// [flat]
/// Merges all leading axes: `[..., n]` becomes `[rows, n]`.
inline Tensor flat(const Tensor& x) {
    return x.reshape({rows(x.shape()), x.dim(-1)});
}
// [product]
namespace fast {
/// `x W^T + b`; with `relu`, negative elements become 0. Bias and ReLU together take one pass
/// over the product.
/// @param x  `[..., d_in]`
/// @return   `[..., d_out]`
Tensor linear_map(const Tensor& x, const Linear& map, bool relu);
}  // namespace fast

}  // namespace abh
