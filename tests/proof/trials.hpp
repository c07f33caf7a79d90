#pragma once

// The makers of trials, and what they share: random inputs and masks, sizes, the trial of any
// layer.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "tests/proof/components.hpp"

namespace abh::proof {

/// Of a table of positions.
constexpr Index max_positions = 9;

inline Tensor random(const Shape& shape, Random& source) {
    return normal(shape, source.stream());
}

/// Inputs of a layer, [batch, length, d_model].
inline Tensor hidden_states(const Sizes& s, Random& source) {
    return random({s.batch, s.length, s.d_model}, source);
}

/// Weights other than the usual start, so that no bias is 0 and no gain 1.
template <class Layer>
std::shared_ptr<Layer> shaken(std::shared_ptr<Layer> layer, Random& source) {
    for (const NamedParameter& p : parameters_of(*layer)) {
        Tensor& value = p.parameter->value;
        value += uniform(value.shape(), Real(-0.5), Real(0.5), source.stream());
    }
    return layer;
}

/// Ids from 0, which is the pad, up; the first of each sentence is a word.
inline Ids random_words(Index batch, Index length, Index words, Random& source) {
    Ids ids = random_ids({batch, length}, 0, static_cast<std::int32_t>(words), source.stream());
    for (Index b = 0; b < batch; ++b) ids(b, 0) = 1;
    return ids;
}

/// A mask whose 1 hides. @param keep  what a 1 of `ids` says, as in the shared-head block
inline Mask as_mask(const Ids& ids, bool keep) {
    Mask mask(ids.shape());
    std::transform(ids.values().begin(), ids.values().end(), mask.data(),
                   [=](std::int32_t id) { return static_cast<std::uint8_t>((id != 0) != keep); });
    return mask;
}

/// Random masks in which each query sees the first key.
inline Ids random_mask(const Shape& shape, bool keep, Random& source) {
    Ids mask = random_ids(shape, 0, 2, source.stream());
    for (Index r = 0; r < mask.size() / mask.dim(-1); ++r) mask.data()[r * mask.dim(-1)] = keep;
    return mask;
}

/// A layer `y = forward(x)`.
template <class Layer>
Trial trial_of(std::shared_ptr<Layer> layer, const Tensor& x) {
    const auto forward = [=] {
        const auto cache = std::make_shared<typename Layer::Cache>();
        return Pass{layer->forward(x, cache.get()), [=](const Tensor& dy) {
                        return Gradients{{"x", layer->backward(dy, *cache)}};
                    }};
    };
    return {.inputs = {{"x", x}}, .parameters = parameters_of(*layer), .forward = forward};
}

/// A layer of one of the source texts' systems, in another size.
inline LayerOptions sized(LayerOptions o, const Sizes& s) {
    o.attention.d_model = s.d_model;
    o.attention.n_heads = s.n_heads;
    o.d_ff = s.d_ff;
    if (o.attention.attention.scale != 0)
        o.attention.attention.scale = 1 / std::sqrt(static_cast<Real>(s.d_model));
    return o;
}

// What makes the trials of each kind of component, from the options in which components differ.

// operations.cpp
Maker matmul_of(bool transposed);
Maker linear(bool bias);
Maker embedding(EmbeddingOptions options);
Maker positions(Positions kind, Real dropout);
Trial dropout(const Sizes& s, Random& source);
Maker masks(const std::function<Mask(const Ids& src, const Ids& tgt)>& mask);
/// A function `y = forward(x)` whose backward needs dy and y, or x.
Maker of_result(Tensor (*function)(const Tensor&), Tensor (*backward)(const Tensor&, const Tensor&),
                bool needs_x = false);
Maker attention_of(bool masked, bool shared_heads);

// layers.cpp
Maker multi_head(const LayerOptions& layer_options);
Maker feed_forward(bool bias, Activation activation = Activation::relu);
Maker layer_norm(bool learned);
/// `norm(x + s)`.
Maker add_norm_post(Real dropout_p);
/// `x + norm(x)^2`: around a sublayer that squares its input.
Trial add_norm_pre(const Sizes& sizes, Random& source);
/// @tparam Layer  `EncoderLayer` or `Encoder`
template <class Layer>
Maker encoder(const LayerOptions& options);
/// @tparam Layer  `DecoderLayer` or `Decoder`
template <class Layer>
Maker decoder(const LayerOptions& options);

// models.cpp
/// `dy` is the gradient with respect to the loss, `[1]`, as it is in `loss_of`.
Maker cross_entropy_of(Real smoothing);
/// The logits of a Transformer.
Maker transformer(const TransformerOptions& options);
/// The loss of its logits.
Maker loss_of(const TransformerOptions& options, Real smoothing = 0);

}  // namespace abh::proof
