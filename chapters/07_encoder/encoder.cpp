#include "chapters/07_encoder/encoder.hpp"

#include "lib/part.hpp"

namespace abh {
// [layers of the sources]
LayerOptions toy_layer() {
    LayerOptions o;
    o.attention.bias_qkv = o.attention.bias_out = o.ff_bias = false;
    o.add_norm.norm.affine = false;
    return o;
}

LayerOptions notebook_layer() {
    return {};
}

LayerOptions shared_head_layer() {
    LayerOptions o;
    o.attention = {.d_model = 256, .bias_qkv = false, .shared_head_projections = true};
    o.attention.attention = {
        .scale = Real(1) / 16, .fill = Real(-1e20), .fill_place = FillPlace::before_scale};
    o.d_ff = 4 * 256;
    return o;
}
// [layer: construct]
EncoderLayer::EncoderLayer(const LayerOptions& o, Random& random)
    : self_attn(o.attention, random),
      norm1(o.attention.d_model, o.add_norm, random),
      ff(o.attention.d_model, o.d_ff, o.ff_bias, random, o.activation),
      norm2(o.attention.d_model, o.add_norm, random) {}

void EncoderLayer::collect(Parameters& list, const std::string& name) {
    self_attn.collect(list, join_name(name, "self_attn"));
    norm1.collect(list, join_name(name, "norm1"));
    ff.collect(list, name);
    norm2.collect(list, join_name(name, "norm2"));
}
// [layer: around its forward]
Tensor EncoderLayer::forward(const Tensor& x, const AttentionMask& mask, Cache* cache,
                             Tensor* weights) const {
    auto* of_attn = part(cache, &Cache::self_attn);  // what backward needs; null: nothing is kept
    auto *of_norm1 = part(cache, &Cache::norm1), *of_norm2 = part(cache, &Cache::norm2);
    auto* of_ff = part(cache, &Cache::ff);
    // [layer: forward]
    const Tensor h1 = norm1.before(x, of_norm1);
    const Tensor f1 = self_attn.forward(h1, h1, h1, mask, of_attn, weights);
    const Tensor x1 = norm1.after(x, f1, of_norm1);  // x + f1, and perhaps a norm

    const Tensor h2 = norm2.before(x1, of_norm2);
    const Tensor f2 = ff.forward(h2, of_ff);
    Tensor y = norm2.after(x1, f2, of_norm2);  // x1 + f2, and perhaps a norm
    // [layer: the end of its forward]
    return y;
}
// [layer: backward]
// forward was:  h1 = before(x),   f1 = self_attn(h1, h1, h1),  x1 = after(x, f1),
//               h2 = before(x1),  f2 = ff(h2),                 y  = after(x1, f2)
// hence:        the same steps from last to first; what was used more than once is a sum
Tensor EncoderLayer::backward(const Tensor& dy, const Cache& cache) {
    auto [dx1, df2] = norm2.after_backward(dy, cache.norm2);  // a plus sign: to both terms
    const Tensor dh2 = ff.backward(df2, cache.ff);
    dx1 = dx1 + norm2.before_backward(dh2, cache.norm2);  // a fork: x1 was used twice

    const auto [dx, df1] = norm1.after_backward(dx1, cache.norm1);
    const auto [dq, dk, dv] = self_attn.backward(df1, cache.self_attn);
    return dx + norm1.before_backward(dq + dk + dv, cache.norm1);  // forks: h1 thrice, x twice
}
// [encoder: construct]
Encoder::Encoder(const LayerOptions& options, Index n_layers, Random& random) {
    require(n_layers >= 1, "encoder: {} layers, expected at least 1", n_layers);
    for (Index i = 0; i < n_layers; ++i) layers.emplace_back(options, random);
    if (options.add_norm.placement == NormPlacement::pre)
        norm.emplace(options.attention.d_model, options.add_norm.norm);
}

void Encoder::collect(Parameters& list, const std::string& name) {
    for (std::size_t i = 0; i < layers.size(); ++i)
        layers[i].collect(list, join_name(name, "layers." + std::to_string(i)));
    if (norm) norm->collect(list, join_name(name, "norm"));
}
// [encoder: forward]
Tensor Encoder::forward(const Tensor& x, const AttentionMask& mask, Cache* cache,
                        std::vector<Tensor>* weights) const {
    if (cache) cache->layers.resize(layers.size());
    if (weights) weights->resize(layers.size());
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i)
        y = layers[i].forward(y, mask, part(part(cache, &Cache::layers), i), part(weights, i));
    return norm ? norm->forward(y, part(cache, &Cache::norm)) : y;
}
// [encoder: backward]
// forward was:  y_0 = x,  y_{i+1} = layer_i(y_i),  and with pre, a norm at the end
// hence:        dy_i = backward of layer_i at dy_{i+1}, from the last layer to the first
Tensor Encoder::backward(const Tensor& dy, const Cache& cache) {
    Tensor dx = norm ? norm->backward(dy, cache.norm) : dy;
    for (std::size_t i = layers.size(); i-- > 0;) dx = layers[i].backward(dx, cache.layers[i]);
    return dx;
}

}  // namespace abh
