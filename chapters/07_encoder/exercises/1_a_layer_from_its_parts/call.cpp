#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor encoder_layer(const Tensor& x, const AttentionMask& mask,
                     const MultiHeadAttention& self_attn, const LayerNorm& norm1,
                     const FeedForward& ff, const LayerNorm& norm2, NormPlacement placement);
}

using namespace abh;

namespace {

void learned(LayerNorm& norm, Random& random) {
    norm.gamma.value = normal(norm.gamma.value.shape(), random.stream());
    norm.beta.value = normal(norm.beta.value.shape(), random.stream());
}

Tensor encoder_layer(const Tensor& x, const Ids& words, Index n_heads, Index d_ff, bool pre,
                     Index seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Index d_model = x.dim(2);
    const MultiHeadAttention self_attn({.d_model = d_model, .n_heads = n_heads}, random);
    const FeedForward ff(d_model, d_ff, true, random);
    LayerNorm norm1(d_model), norm2(d_model);
    learned(norm1, random);
    learned(norm2, random);
    return mine::encoder_layer(x, hide_pads(words), self_attn, norm1, ff, norm2,
                               pre ? NormPlacement::pre : NormPlacement::post);
}

Tensor by_hand(const Tensor& x, bool pre) {
    Random random(0);
    MultiHeadAttention self_attn({.d_model = 2, .n_heads = 1}, random);
    FeedForward ff(2, 3, true, random);
    for (const NamedParameter& p : parameters_of(self_attn)) {
        p.parameter->value.fill(0);
        if (p.parameter->value.rank() == 2)
            for (Index i = 0; i < 2; ++i) p.parameter->value(i, i) = 1;
    }
    for (const NamedParameter& p : parameters_of(ff)) p.parameter->value.fill(0);
    return mine::encoder_layer(x, {}, self_attn, LayerNorm(2), ff, LayerNorm(2),
                               pre ? NormPlacement::pre : NormPlacement::post);
}

}  // namespace

int main() {
    return judge::serve(
        {{"encoder_layer", judge::function(encoder_layer)}, {"by_hand", judge::function(by_hand)}});
}
