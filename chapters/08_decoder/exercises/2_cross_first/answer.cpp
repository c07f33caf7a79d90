// Exercise 08.2: a decoder layer with cross-attention first.
#include <stdexcept>

#include "chapters/08_decoder/decoder.hpp"

namespace abh::mine {

using Cache = DecoderLayer::Cache;

/// Cross-attention, masked self-attention, feed-forward; their norms are norm1, norm2 and norm3.
/// @param x           `[B, Lt, d_model]`
/// @param memory      `[B, Ls, d_model]`
/// @param self_mask   hides the future, and pads among the target's words
/// @param cross_mask  hides pads among the source's words
/// @param cache       filled for `cross_first_backward`; null at inference
/// @return            `[B, Lt, d_model]`
Tensor cross_first_forward(const DecoderLayer& layer, const Tensor& x, const Tensor& memory,
                           const AttentionMask& self_mask, const AttentionMask& cross_mask,
                           Cache* cache) {
    // solution
    const Tensor h1 = layer.norm1.before(x, part(cache, &Cache::norm1));
    const Tensor f1 =
        layer.cross_attn.forward(h1, memory, memory, cross_mask, part(cache, &Cache::cross_attn));
    const Tensor x1 = layer.norm1.after(x, f1, part(cache, &Cache::norm1));

    const Tensor h2 = layer.norm2.before(x1, part(cache, &Cache::norm2));
    const Tensor f2 =
        layer.self_attn.forward(h2, h2, h2, self_mask, part(cache, &Cache::self_attn));
    const Tensor x2 = layer.norm2.after(x1, f2, part(cache, &Cache::norm2));

    const Tensor h3 = layer.norm3.before(x2, part(cache, &Cache::norm3));
    const Tensor f3 = layer.ff.forward(h3, part(cache, &Cache::ff));
    return layer.norm3.after(x2, f3, part(cache, &Cache::norm3));
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// Adds to the gradients of all parameters.
/// @param dy  gradient of the loss with respect to the result, `[B, Lt, d_model]`
/// @return    `dx`, `[B, Lt, d_model]`, and `dmemory`, `[B, Ls, d_model]`
DecoderLayer::Gradients cross_first_backward(DecoderLayer& layer, const Tensor& dy,
                                             const Cache& cache) {
    // solution
    auto [dx2, df3] = layer.norm3.after_backward(dy, cache.norm3);
    dx2 = dx2 + layer.norm3.before_backward(layer.ff.backward(df3, cache.ff), cache.norm3);

    auto [dx1, df2] = layer.norm2.after_backward(dx2, cache.norm2);
    const auto [dq, dk, dv] = layer.self_attn.backward(df2, cache.self_attn);
    dx1 = dx1 + layer.norm2.before_backward(dq + dk + dv, cache.norm2);

    const auto [dx, df1] = layer.norm1.after_backward(dx1, cache.norm1);
    const auto [dquery, dkey, dvalue] = layer.cross_attn.backward(df1, cache.cross_attn);
    return {dx + layer.norm1.before_backward(dquery, cache.norm1), dkey + dvalue};
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
