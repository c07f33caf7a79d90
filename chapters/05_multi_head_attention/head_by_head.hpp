#pragma once

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [head by head]
/// One head's own projection, which is rows `h * d_k` to `(h + 1) * d_k - 1` of the large one.
inline Tensor one_head(const Linear& projection, const Tensor& x, Index h, Index d_k) {
    Tensor y({1, 1, x.dim(1), d_k});
    matrix(y) = matrix(x) * matrix(projection.weight.value).middleRows(h * d_k, d_k).transpose();
    if (projection.has_bias())
        matrix(y).rowwise() += vector(projection.bias.value).segment(h * d_k, d_k).transpose();
    return y;
}

/// Multi-head attention built from chapter 4 alone: y = b_O + sum over heads of context_h W_O,h^T.
inline Tensor head_by_head(const MultiHeadAttention& layer, const Tensor& x, const Mask& mask) {
    const Index n_heads = layer.options().n_heads, d_k = layer.options().d_model / n_heads;
    Tensor y = Tensor::zeros(x.shape());  // [1, L, d_model]
    for (Index h = 0; h < n_heads; ++h) {
        const Tensor q = one_head(layer.w_q, x, h, d_k), k = one_head(layer.w_k, x, h, d_k),
                     v = one_head(layer.w_v, x, h, d_k);  // [1, 1, L, d_k]
        const Tensor context = attention(q, k, v, over_heads(mask));
        matrix(y) +=
            matrix(context) * matrix(layer.w_o.weight.value).middleCols(h * d_k, d_k).transpose();
    }
    if (layer.w_o.has_bias()) matrix(y).rowwise() += vector(layer.w_o.bias.value).transpose();
    return y;
}

}  // namespace abh
