#pragma once

// Trials of layers: multi-head attention, feed-forward, norms, encoder and decoder.
#include <cmath>
#include <type_traits>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/08_decoder/decoder.hpp"
#include "tests/proof/trial.hpp"

namespace abh::proof {

/// A layer of one of the source texts' systems, in another size.
inline MultiHeadOptions sized(MultiHeadOptions o, const Sizes& s) {
    o.d_model = s.d_model;
    o.n_heads = s.n_heads;
    if (o.attention.scale != 0) o.attention.scale = 1 / std::sqrt(static_cast<Real>(s.d_model));
    return o;
}
inline LayerOptions sized(LayerOptions o, const Sizes& s) {
    o.attention = sized(o.attention, s);
    o.d_ff = s.d_ff;
    return o;
}

/// In a system with one map for all heads, masks say what to keep.
inline Maker multi_head(const MultiHeadOptions& options) {
    return [=, keep = options.shared_head_projections](const Sizes& s, Random& source) {
        const auto layer =
            shaken(std::make_shared<MultiHeadAttention>(sized(options, s), source), source);
        const Tensor query = hidden_states(s, source);
        const Tensor key = random({s.batch, s.keys, s.d_model}, source);
        const Tensor value = random({s.batch, s.keys, s.d_model}, source);
        const Ids mask = random_mask({s.batch, s.length, s.keys}, keep, source);
        return Trial{
            .inputs = {{"query", query}, {"key", key}, {"value", value}},
            .ids = {{"mask", mask}},
            .parameters = parameters_of(*layer),
            .forward = with_cache<MultiHeadAttention::Cache>(
                [=](auto* cache) {
                    return layer->forward(query, key, value, as_mask(mask, keep), cache);
                },
                [=](const Tensor& dy, const auto& cache) {
                    const auto d = layer->backward(dy, cache);
                    return Gradients{{"query", d.dquery}, {"key", d.dkey}, {"value", d.dvalue}};
                })};
    };
}

inline Maker feed_forward(bool bias, Activation activation = Activation::relu) {
    return [=](const Sizes& s, Random& source) {
        const auto ff = std::make_shared<FeedForward>(s.d_model, s.d_ff, bias, source, activation);
        return trial_of(shaken(ff, source), hidden_states(s, source));
    };
}

/// @param deviation  of the rows
inline Maker layer_norm(const LayerNormOptions& options, Real deviation = 1) {
    return [=](const Sizes& s, Random& source) {
        Tensor x = hidden_states(s, source);
        return trial_of(shaken(std::make_shared<LayerNorm>(s.d_model, options), source),
                        x *= deviation);
    };
}

/// `norm(x + s)`, or, around a sublayer that squares its input, `x + norm(x)^2`.
inline Maker add_norm(const AddNormOptions& options) {
    return [=, pre = options.placement == NormPlacement::pre](const Sizes& sizes, Random& source) {
        const auto layer =
            shaken(std::make_shared<AddNorm>(sizes.d_model, options, source), source);
        const Tensor x = hidden_states(sizes, source);
        const Tensor s = pre ? Tensor() : hidden_states(sizes, source);
        const auto times = [](const Tensor& a, const Tensor& b) {
            Tensor y(a.shape());
            for (Index i = 0; i < y.size(); ++i) y.data()[i] = a.data()[i] * b.data()[i];
            return y;
        };
        Trial trial{.inputs = {{"x", x}}, .parameters = parameters_of(*layer)};
        if (!pre) trial.inputs["s"] = s;
        struct Cache : AddNorm::Cache {
            Tensor h;
        };
        trial.forward = with_cache<Cache>(
            [=](auto* cache) {
                const Tensor h = cache->h = layer->before(x, cache);
                return layer->after(x, pre ? times(h, h) : s, cache);
            },
            [=](const Tensor& dy, const auto& cache) {
                const auto d = layer->after_backward(dy, cache);
                if (!pre) return Gradients{{"x", d.dx}, {"s", d.dsublayer}};
                const Tensor dh = times(d.dsublayer, cache.h + cache.h);
                return Gradients{{"x", d.dx + layer->before_backward(dh, cache)}};
            });
        return trial;
    };
}

/// A layer, or a stack of such layers.
template <class Layer>
std::shared_ptr<Layer> made(const LayerOptions& o, const Sizes& s, Random& source) {
    if constexpr (std::is_constructible_v<Layer, LayerOptions, Index, Random&>)
        return shaken(std::make_shared<Layer>(sized(o, s), s.n_layers, source), source);
    else
        return shaken(std::make_shared<Layer>(sized(o, s), source), source);
}

/// @tparam Layer  `EncoderLayer` or `Encoder`
template <class Layer>
Maker encoder(const LayerOptions& options) {
    return [=, keep = options.attention.shared_head_projections](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(options, s, source);
        const Tensor x = random({s.batch, s.keys, s.d_model}, source);
        const Ids mask = random_mask({s.batch, s.keys, s.keys}, keep, source);
        return Trial{.inputs = {{"x", x}},
                     .ids = {{"mask", mask}},
                     .parameters = parameters_of(*layer),
                     .forward = with_cache<typename Layer::Cache>(
                         [=](auto* cache) { return layer->forward(x, as_mask(mask, keep), cache); },
                         [=](const Tensor& dy, const auto& cache) {
                             return Gradients{{"x", layer->backward(dy, cache)}};
                         })};
    };
}

/// @tparam Layer  `DecoderLayer` or `Decoder`
template <class Layer>
Maker decoder(const LayerOptions& options) {
    return [=, keep = options.attention.shared_head_projections](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(options, s, source);
        const Tensor x = hidden_states(s, source);
        const Tensor memory = random({s.batch, s.keys, s.d_model}, source);
        const Ids self = random_mask({s.batch, s.length, s.length}, keep, source);
        const Ids cross = random_mask({s.batch, s.length, s.keys}, keep, source);
        return Trial{.inputs = {{"x", x}, {"memory", memory}},
                     .ids = {{"self_mask", self}, {"cross_mask", cross}},
                     .parameters = parameters_of(*layer),
                     .forward = with_cache<typename Layer::Cache>(
                         [=](auto* cache) {
                             return layer->forward(x, memory, as_mask(self, keep),
                                                   as_mask(cross, keep), cache);
                         },
                         [=](const Tensor& dy, const auto& cache) {
                             const auto d = layer->backward(dy, cache);
                             return Gradients{{"x", d.dx}, {"memory", d.dmemory}};
                         })};
    };
}

}  // namespace abh::proof
