// Exercise 06.3: add and norm.
#include <stdexcept>

#include "chapters/06_feed_forward/add_norm.hpp"

namespace abh::mine {

/// `norm(x + dropout(sublayer))`.
/// @param x         [..., d_model]
/// @param sublayer  the sublayer's output, the same shape
/// @param dropout   for the sublayer's output
/// @param norm      for the sum
/// @param cache     its parts are filled for `add_norm_backward`; null at inference
/// @return          the same shape
Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache) {
    // solution
    const Tensor dropped = dropout.forward(sublayer, cache ? &cache->dropout : nullptr);
    return norm.forward(x + dropped, cache ? &cache->norm : nullptr);
    // stub
    // (void)x, (void)sublayer, (void)dropout, (void)norm, (void)cache;
    // throw std::logic_error("not written yet");
    // end
}

/// Adds to the gradients of gamma and beta.
/// @param dy     gradient of the loss with respect to the result, [..., d_model]
/// @param cache  as `add_norm` filled it
/// @return       dx, along the residual connection, and dsublayer, both of the shape of dy
AddNormGradients add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                   const AddNormCache& cache) {
    // solution
    const Tensor dsum = norm.backward(dy, cache.norm);
    return {dsum, dropout.backward(dsum, cache.dropout)};
    // stub
    // (void)dy, (void)dropout, (void)norm, (void)cache;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
