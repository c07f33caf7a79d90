// Exercise 08.4: what memory collects.
#include <stdexcept>
#include <utility>
#include <vector>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"

namespace abh::mine {

// forward was:  memory = norm(enc),  y_0 = x,  y_{i+1} = y_i + layers[i](y_i, memory, memory)

/// Adds to the gradients of all parameters.
/// @param dy          gradient of the loss with respect to the last y, `[B, Lt, d_model]`
/// @param caches      the layers', as their forward passes filled them
/// @param norm_cache  the norm's, from its one forward pass
/// @return            `dx`, `[B, Lt, d_model]`, and the gradient with respect to the encoder's
///                    result, `[B, Ls, d_model]`
std::pair<Tensor, Tensor> memory_backward(const Tensor& dy, std::vector<MultiHeadAttention>& layers,
                                          const std::vector<MultiHeadAttention::Cache>& caches,
                                          LayerNorm& norm, const LayerNorm::Cache& norm_cache) {
    // solution
    Tensor dx = dy, dmemory = Tensor::zeros(norm_cache.normalized.shape());
    for (std::size_t i = layers.size(); i-- > 0;) {
        const auto [dquery, dkey, dvalue] = layers[i].backward(dx, caches[i]);
        dmemory = dmemory + dkey + dvalue;
        dx = dx + dquery;
    }
    return {dx, norm.backward(dmemory, norm_cache)};
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
