// Exercise 07.2: attention and feed-forward side by side.
#include <stdexcept>

#include "chapters/07_encoder/encoder.hpp"

namespace abh::mine {

/// `y = x + attn(x', x', x') + ff(x')` with `x' = norm(x)`; the norm is `layer.norm1.norm`.
/// @param x      `[B, L, d_model]`
/// @param cache  `norm1.norm`, `self_attn` and `ff` are filled for `parallel_backward`; null at
///               inference
/// @return       `[B, L, d_model]`
Tensor parallel_forward(const EncoderLayer& layer, const Tensor& x, const AttentionMask& mask,
                        EncoderLayer::Cache* cache) {
    // solution
    const Tensor h = layer.norm1.norm.forward(x, cache ? &cache->norm1.norm : nullptr);
    const Tensor f1 = layer.self_attn.forward(h, h, h, mask, cache ? &cache->self_attn : nullptr);
    return x + f1 + layer.ff.forward(h, cache ? &cache->ff : nullptr);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// Adds to the gradients of all parameters that the layer uses.
/// @param dy  gradient of the loss with respect to the result, `[B, L, d_model]`
/// @return    `dx`, `[B, L, d_model]`
Tensor parallel_backward(EncoderLayer& layer, const Tensor& dy, const EncoderLayer::Cache& cache) {
    // solution
    const auto [dq, dk, dv] = layer.self_attn.backward(dy, cache.self_attn);
    const Tensor dh = layer.ff.backward(dy, cache.ff);
    return dy + layer.norm1.norm.backward(dq + dk + dv + dh, cache.norm1.norm);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
