// Exercise 07.1: an encoder layer from its parts.
#include <stdexcept>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"

namespace abh::mine {

/// @param x          `[B, L, d_model]`
/// @param mask       which words each word sees
/// @param norm1      for attention, the first sublayer
/// @param norm2      for feed-forward, the second
/// @param placement  of the norms; post: after the residual sum, pre: before the sublayer
/// @return           `[B, L, d_model]`
Tensor encoder_layer(const Tensor& x, const AttentionMask& mask,
                     const MultiHeadAttention& self_attn, const LayerNorm& norm1,
                     const FeedForward& ff, const LayerNorm& norm2, NormPlacement placement) {
    // solution
    const bool post = placement == NormPlacement::post;
    const Tensor h1 = post ? x : norm1.forward(x);
    const Tensor f1 = self_attn.forward(h1, h1, h1, mask);
    const Tensor sum1 = x + f1;
    const Tensor x1 = post ? norm1.forward(sum1) : sum1;

    const Tensor h2 = post ? x1 : norm2.forward(x1);
    const Tensor sum2 = x1 + ff.forward(h2);
    return post ? norm2.forward(sum2) : sum2;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
