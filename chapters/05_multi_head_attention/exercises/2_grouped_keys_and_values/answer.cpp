// Exercise 05.2: grouped keys and values.
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {
// solution

namespace {

Index group_of(Index h, Index n_heads, Index n_groups) {
    return h * n_groups / n_heads;
}

/// Gives each query head a copy of its group: [B, G, L, d] becomes [B, H, L, d].
Tensor spread(const Tensor& x, Index n_heads) {
    const Index n_groups = x.dim(1);
    Tensor y(x.shape().with(1, n_heads));
    for (Index b = 0; b < x.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h) {
            const Index g = group_of(h, n_heads, n_groups);
            matrix(y, b * n_heads + h) = matrix(x, b * n_groups + g);
        }
    return y;
}

// forward was:  each head gets a copy of its group
// hence:        the group gets the sum of what the copies get
Tensor gather(const Tensor& dy, Index n_groups) {
    const Index n_heads = dy.dim(1);
    Tensor dx = Tensor::zeros(dy.shape().with(1, n_groups));
    for (Index b = 0; b < dy.dim(0); ++b)
        for (Index h = 0; h < n_heads; ++h) {
            const Index g = group_of(h, n_heads, n_groups);
            matrix(dx, b * n_groups + g) += matrix(dy, b * n_heads + h);
        }
    return dx;
}

}  // namespace
// stub
// end

/// Attention whose heads share keys and values.
/// @param q      queries, [B, H, Lq, d_k]
/// @param k      keys, [B, G, Lk, d_k], where G divides H
/// @param v      values, [B, G, Lk, d_v]
/// @param mask   as for `attention`
/// @param cache  filled for `grouped_attention_backward`
/// @return       [B, H, Lq, d_v]
Tensor grouped_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                         AttentionCache& cache) {
    // solution
    return attention(q, spread(k, q.dim(1)), spread(v, q.dim(1)), mask, {}, &cache);
    // stub
    // (void)q, (void)k, (void)v, (void)mask, (void)cache;
    // throw std::logic_error("not written yet");
    // end
}

/// Gradients of `grouped_attention`.
/// @param dy        gradient of the loss with respect to the result, [B, H, Lq, d_v]
/// @param cache     as `grouped_attention` filled it
/// @param n_groups  G
/// @return          dq, dk and dv, of the shapes of q, k and v: [B, G, Lk, d_k] for the keys
AttentionGradients grouped_attention_backward(const Tensor& dy, const AttentionCache& cache,
                                              Index n_groups) {
    // solution
    const auto [dq, dk, dv] = attention_backward(dy, cache);
    return {dq, gather(dk, n_groups), gather(dv, n_groups)};
    // stub
    // (void)dy, (void)cache, (void)n_groups;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
