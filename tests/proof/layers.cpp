#include <memory>
#include <type_traits>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/08_decoder/decoder.hpp"
#include "tests/proof/trials.hpp"

namespace abh::proof {

Maker multi_head(const LayerOptions& layer_options) {
    return [=](const Sizes& s, Random& source) {
        const MultiHeadOptions o = sized(layer_options, s).attention;
        const auto layer = shaken(std::make_shared<MultiHeadAttention>(o, source), source);
        const Tensor query = hidden_states(s, source);
        const Tensor key = random({s.batch, s.keys, s.d_model}, source);
        const Tensor value = random({s.batch, s.keys, s.d_model}, source);
        const bool keep = o.shared_head_projections;
        const Ids mask = random_mask({s.batch, s.length, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<MultiHeadAttention::Cache>();
            const Tensor y = layer->forward(query, key, value, as_mask(mask, keep), cache.get());
            return Pass{
                y, [=](const Tensor& dy) {
                    const auto d = layer->backward(dy, *cache);
                    return Gradients{{"query", d.dquery}, {"key", d.dkey}, {"value", d.dvalue}};
                }};
        };
        return Trial{.inputs = {{"query", query}, {"key", key}, {"value", value}},
                     .ids = {{"mask", mask}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

Maker feed_forward(bool bias, Activation activation) {
    return [=](const Sizes& s, Random& source) {
        const auto ff = std::make_shared<FeedForward>(s.d_model, s.d_ff, bias, source, activation);
        return trial_of(shaken(ff, source), hidden_states(s, source));
    };
}

Maker layer_norm(bool learned) {
    return [=](const Sizes& s, Random& source) {
        const LayerNormOptions options{.affine = learned};
        return trial_of(shaken(std::make_shared<LayerNorm>(s.d_model, options), source),
                        hidden_states(s, source));
    };
}

Maker add_norm_post(Real dropout_p) {
    return [=](const Sizes& sizes, Random& source) {
        const AddNormOptions o{.placement = NormPlacement::post,
                               .dropout = dropout_p,
                               .dropout_after_norm = dropout_p};
        const auto layer = shaken(std::make_shared<AddNorm>(sizes.d_model, o, source), source);
        const Tensor x = hidden_states(sizes, source), s = hidden_states(sizes, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<AddNorm::Cache>();
            const Tensor y = layer->after(layer->before(x, cache.get()), s, cache.get());
            return Pass{y, [=](const Tensor& dy) {
                            const auto d = layer->after_backward(dy, *cache);
                            return Gradients{{"x", d.dx}, {"s", d.dsublayer}};
                        }};
        };
        return Trial{.inputs = {{"x", x}, {"s", s}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

Trial add_norm_pre(const Sizes& sizes, Random& source) {
    const AddNormOptions o{.placement = NormPlacement::pre};
    const auto layer = shaken(std::make_shared<AddNorm>(sizes.d_model, o, source), source);
    const Tensor x = hidden_states(sizes, source);
    const auto times = [](const Tensor& a, const Tensor& b, Real factor) {
        Tensor y(a.shape());
        for (Index i = 0; i < y.size(); ++i) y.data()[i] = factor * a.data()[i] * b.data()[i];
        return y;
    };
    const auto forward = [=] {
        const auto cache = std::make_shared<AddNorm::Cache>();
        const Tensor h = layer->before(x, cache.get());
        return Pass{layer->after(x, times(h, h, 1), cache.get()), [=](const Tensor& dy) {
                        const auto d = layer->after_backward(dy, *cache);
                        const Tensor dh = times(d.dsublayer, h, 2);
                        return Gradients{{"x", d.dx + layer->before_backward(dh, *cache)}};
                    }};
    };
    return {.inputs = {{"x", x}}, .parameters = parameters_of(*layer), .forward = forward};
}

namespace {

/// Whether the masks of a system say what to keep: those of the shared-head block.
bool says_keep(const LayerOptions& o) {
    return o.attention.shared_head_projections;
}

/// A layer, or a stack of such layers.
template <class Layer>
std::shared_ptr<Layer> made(const LayerOptions& o, const Sizes& s, Random& source) {
    if constexpr (std::is_constructible_v<Layer, LayerOptions, Index, Random&>)
        return shaken(std::make_shared<Layer>(o, s.n_layers, source), source);
    else
        return shaken(std::make_shared<Layer>(o, source), source);
}

}  // namespace

template <class Layer>
Maker encoder(const LayerOptions& options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(sized(options, s), s, source);
        const bool keep = says_keep(options);
        const Tensor x = random({s.batch, s.keys, s.d_model}, source);
        const Ids mask = random_mask({s.batch, s.keys, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<typename Layer::Cache>();
            return Pass{layer->forward(x, as_mask(mask, keep), cache.get()), [=](const Tensor& dy) {
                            return Gradients{{"x", layer->backward(dy, *cache)}};
                        }};
        };
        return Trial{.inputs = {{"x", x}},
                     .ids = {{"mask", mask}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

template Maker encoder<EncoderLayer>(const LayerOptions&);
template Maker encoder<Encoder>(const LayerOptions&);

template <class Layer>
Maker decoder(const LayerOptions& options) {
    return [=](const Sizes& s, Random& source) {
        const auto layer = made<Layer>(sized(options, s), s, source);
        const bool keep = says_keep(options);
        const Tensor x = hidden_states(s, source);
        const Tensor memory = random({s.batch, s.keys, s.d_model}, source);
        const Ids self = random_mask({s.batch, s.length, s.length}, keep, source);
        const Ids cross = random_mask({s.batch, s.length, s.keys}, keep, source);
        const auto forward = [=] {
            const auto cache = std::make_shared<typename Layer::Cache>();
            const Tensor y =
                layer->forward(x, memory, as_mask(self, keep), as_mask(cross, keep), cache.get());
            return Pass{y, [=](const Tensor& dy) {
                            const auto d = layer->backward(dy, *cache);
                            return Gradients{{"x", d.dx}, {"memory", d.dmemory}};
                        }};
        };
        return Trial{.inputs = {{"x", x}, {"memory", memory}},
                     .ids = {{"self_mask", self}, {"cross_mask", cross}},
                     .parameters = parameters_of(*layer),
                     .forward = forward};
    };
}

template Maker decoder<DecoderLayer>(const LayerOptions&);
template Maker decoder<Decoder>(const LayerOptions&);

}  // namespace abh::proof
