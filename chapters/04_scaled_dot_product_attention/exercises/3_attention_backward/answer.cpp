// Exercise 04.3: the gradients of attention with a bias for each distance.
#include <cmath>
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/matmul.hpp"

namespace abh::mine {

/// Gradient of attention with respect to the values.
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

/// What `attention_backward` returns.
struct BiasedGradients {
    Tensor dq;     ///< [B, H, Lq, d_k]
    Tensor dk;     ///< [B, H, Lk, d_k]
    Tensor dv;     ///< [B, H, Lk, d_v]
    Tensor dbias;  ///< [H, Lq + Lk - 1]
};

/// Gradients of attention whose scores are q k^T / sqrt(d_k) + bias[h, j - i + Lq - 1] for query
/// i and key j.
/// @param dy      gradient of the loss with respect to the result, [B, H, Lq, d_v]
/// @param q       queries, [B, H, Lq, d_k]
/// @param k       keys, [B, H, Lk, d_k]
/// @param v       values, [B, H, Lk, d_v]
/// @param w       attention weights, [B, H, Lq, Lk]
/// @param hidden  1 where a score was overwritten by the fill, [B, H, Lq, Lk]
BiasedGradients attention_backward(const Tensor& dy, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& w, const Mask& hidden) {
    // solution
    const Real c = 1 / std::sqrt(static_cast<Real>(q.dim(3)));
    Tensor ds = softmax_backward(matmul(dy, v, {.transpose_b = true}), w);  // [B, H, Lq, Lk]
    for (Index i = 0; i < ds.size(); ++i)
        if (hidden.data()[i] != 0) ds.data()[i] = 0;
    const Tensor dq = matmul(ds, k, {.scale = c});
    const Tensor dk = matmul(ds, q, {.transpose_a = true, .scale = c});
    Tensor dbias = Tensor::zeros({ds.dim(1), ds.dim(2) + ds.dim(3) - 1});
    for (Index b = 0; b < ds.dim(0); ++b)
        for (Index h = 0; h < ds.dim(1); ++h)
            for (Index i = 0; i < ds.dim(2); ++i)
                for (Index j = 0; j < ds.dim(3); ++j)
                    dbias(h, j - i + ds.dim(2) - 1) += ds(b, h, i, j);
    return {dq, dk, values_backward(dy, w), dbias};
    // stub
    // (void)dy, (void)q, (void)k, (void)v, (void)w, (void)hidden;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
