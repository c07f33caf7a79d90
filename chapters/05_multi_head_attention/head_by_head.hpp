#pragma once

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [around it]
/// Multi-head self-attention of one sentence, built from chapter 4 alone.
/// @param x     `[1, L, d_model]`
/// @param hides  `[1, L, L]` @return the shape of `x`
inline Tensor head_by_head(const MultiHeadAttention& layer, const Tensor& x, const Mask& hides) {
    const Index n_heads = layer.options().n_heads, d_k = x.dim(2) / n_heads;
    const Mask mask = over_heads(hides);
    const auto cut = [&](const Tensor& t, Index h) {  // the columns of head h
        Tensor columns({1, 1, t.dim(1), d_k});
        matrix(columns) = matrix(t).middleCols(h * d_k, d_k);
        return columns;
    };
    const auto put = [&](Tensor& t, Index h, const Tensor& columns) {  // and back in their place
        matrix(t).middleCols(h * d_k, d_k) = matrix(columns);
    };
    // [head by head]
    const Tensor q = layer.w_q.forward(x), k = layer.w_k.forward(x), v = layer.w_v.forward(x);
    Tensor context(x.shape());             // [1, L, d_model]
    for (Index h = 0; h < n_heads; ++h) {  // each head has a softmax of its own
        const Tensor c = attention(cut(q, h), cut(k, h), cut(v, h), mask);
        put(context, h, c);  // side by side
    }
    return layer.w_o.forward(context);
    // [after it]
}

}  // namespace abh
