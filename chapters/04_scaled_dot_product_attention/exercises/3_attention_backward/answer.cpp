// Exercise 04.3: the gradients of attention.
#include <cmath>
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// Gradient of `attention` with respect to the values.
/// @param dy  gradient of the loss with respect to the result, [B, H, Lq, d_v]
/// @param w   attention weights, [B, H, Lq, Lk]
/// @return    dv, [B, H, Lk, d_v]
Tensor values_backward(const Tensor& dy, const Tensor& w) {
    // solution
    return matmul(w, dy, {.transpose_a = true});
    // stub
    // (void)dy, (void)w;
    // throw std::logic_error("not written yet");
    // end
}

/// Gradients of `attention` with respect to queries, keys and values.
/// @param dy      gradient of the loss with respect to the result, [B, H, Lq, d_v]
/// @param q       queries, [B, H, Lq, d_k]
/// @param k       keys, [B, H, Lk, d_k]
/// @param v       values, [B, H, Lk, d_v]
/// @param w       attention weights, [B, H, Lq, Lk]
/// @param hidden  1 where a score was overwritten by the fill, [B, H, Lq, Lk]
/// @return        dq, dk and dv, of the shapes of q, k and v
AttentionGradients attention_backward(const Tensor& dy, const Tensor& q, const Tensor& k,
                                      const Tensor& v, const Tensor& w, const Mask& hidden) {
    // solution
    const Real c = 1 / std::sqrt(static_cast<Real>(q.dim(3)));
    Tensor ds = softmax_backward(matmul(dy, v, {.transpose_b = true}), w);  // [B, H, Lq, Lk]
    for (Index i = 0; i < ds.size(); ++i)
        if (hidden.data()[i] != 0) ds.data()[i] = 0;
    const Tensor dq = matmul(ds, k, {.scale = c});
    const Tensor dk = matmul(ds, q, {.transpose_a = true, .scale = c});
    const Tensor dv = values_backward(dy, w);
    return {dq, dk, dv};
    // stub
    // (void)dy, (void)q, (void)k, (void)v, (void)w, (void)hidden;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
