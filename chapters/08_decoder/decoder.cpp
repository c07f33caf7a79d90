#include "chapters/08_decoder/decoder.hpp"

namespace abh {
// [layer: construct]
DecoderLayer::DecoderLayer(const LayerOptions& o, Random& random)
    : self_attn(o.attention, random),
      norm1(o.attention.d_model, o.add_norm, random),
      cross_attn(o.attention, random),
      norm2(o.attention.d_model, o.add_norm, random),
      ff(o.attention.d_model, o.d_ff, o.ff_bias, random, o.activation),
      norm3(o.attention.d_model, o.add_norm, random) {}

void DecoderLayer::collect(Parameters& list, const std::string& name) {
    self_attn.collect(list, join_name(name, "self_attn"));
    norm1.collect(list, join_name(name, "norm1"));
    cross_attn.collect(list, join_name(name, "multihead_attn"));
    norm2.collect(list, join_name(name, "norm2"));
    ff.collect(list, name);
    norm3.collect(list, join_name(name, "norm3"));
}
// [layer: around its forward]
Tensor DecoderLayer::forward(const Tensor& x, const Tensor& memory, const AttentionMask& self_mask,
                             const AttentionMask& cross_mask, Cache* cache,
                             AttentionWeights* weights) const {
    require(x.rank() == 3, "decoder layer: x has shape {}, expected [B, Lt, d_model]", x.shape());
    // all axes but the middle one are equal
    require(memory.rank() == 3 && memory.shape().with(1, 1) == x.shape().with(1, 1),
            "decoder layer: memory has shape {}, expected [{}, Ls, {}]", memory.shape(), x.dim(0),
            x.dim(2));
    auto *of_self = part(cache, &Cache::self_attn), *of_cross = part(cache, &Cache::cross_attn);
    auto *of_norm1 = part(cache, &Cache::norm1), *of_norm2 = part(cache, &Cache::norm2);
    auto* of_norm3 = part(cache, &Cache::norm3);
    auto* of_ff = part(cache, &Cache::ff);
    auto* weights1 = part(weights, &AttentionWeights::self);
    auto* weights2 = part(weights, &AttentionWeights::cross);
    // [layer: two attentions]
    const auto self = [&](const Tensor& h) {
        return self_attn.forward(h, h, h, self_mask, of_self, weights1);
    };
    const auto cross = [&](const Tensor& h) {
        return cross_attn.forward(h, memory, memory, cross_mask, of_cross, weights2);
    };
    // [layer: forward]
    const Tensor x1 = norm1.after(x, self(norm1.before(x, of_norm1)), of_norm1);
    const Tensor x2 = norm2.after(x1, cross(norm2.before(x1, of_norm2)), of_norm2);
    return norm3.after(x2, ff.forward(norm3.before(x2, of_norm3), of_ff), of_norm3);
    // [layer: after its forward]
}
// [layer: backward]
// forward was:  h1 = before(x),  f1 = self_attn(h1, h1, h1),  x1 = after(x, f1),  and so on
// hence:        from last to first; memory was key and value, so its gradients add
DecoderLayer::Gradients DecoderLayer::backward(const Tensor& dy, const Cache& cache) {
    auto [dx2, df3] = norm3.after_backward(dy, cache.norm3);
    dx2 = dx2 + norm3.before_backward(ff.backward(df3, cache.ff), cache.norm3);

    auto [dx1, df2] = norm2.after_backward(dx2, cache.norm2);
    const auto [dh2, dkey, dvalue] = cross_attn.backward(df2, cache.cross_attn);
    dx1 = dx1 + norm2.before_backward(dh2, cache.norm2);

    const auto [dx, df1] = norm1.after_backward(dx1, cache.norm1);
    const auto [dq, dk, dv] = self_attn.backward(df1, cache.self_attn);
    return {dx + norm1.before_backward(dq + dk + dv, cache.norm1), dkey + dvalue};
}
// [decoder: construct]
Decoder::Decoder(const LayerOptions& options, Index n_layers, Random& random) {
    require(n_layers >= 1, "decoder: {} layers, expected at least 1", n_layers);
    for (Index i = 0; i < n_layers; ++i) layers.emplace_back(options, random);
    if (options.add_norm.placement == NormPlacement::pre)
        norm.emplace(options.attention.d_model, options.add_norm.norm);
}

void Decoder::collect(Parameters& list, const std::string& name) {
    for (std::size_t i = 0; i < layers.size(); ++i)
        layers[i].collect(list, join_name(name, "layers." + std::to_string(i)));
    if (norm) norm->collect(list, join_name(name, "norm"));
}
// [decoder: forward]
Tensor Decoder::forward(const Tensor& x, const Tensor& memory, const AttentionMask& self_mask,
                        const AttentionMask& cross_mask, Cache* cache,
                        std::vector<AttentionWeights>* weights) const {
    if (cache) cache->layers.resize(layers.size());
    if (weights) weights->resize(layers.size());
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i)
        y = layers[i].forward(y, memory, self_mask, cross_mask,
                              part(part(cache, &Cache::layers), i), part(weights, i));
    return norm ? norm->forward(y, part(cache, &Cache::norm)) : y;
}
// [decoder: backward]
// forward was:  y_0 = x,  y_{i+1} = layer_i(y_i, memory),  and with pre, a norm at the end
// hence:        from the last layer to the first; each read memory, so their dmemory add
Decoder::Gradients Decoder::backward(const Tensor& dy, const Cache& cache) {
    Tensor dx = norm ? norm->backward(dy, cache.norm) : dy;
    Tensor dmemory;
    for (std::size_t i = layers.size(); i-- > 0;) {
        auto d = layers[i].backward(dx, cache.layers[i]);
        dx = d.dx;
        dmemory = dmemory.empty() ? d.dmemory : dmemory + d.dmemory;
    }
    return {dx, dmemory};
}

}  // namespace abh
