#pragma once

// What makes the trials of each kind of component, from the options in which components differ.
#include <functional>

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "tests/proof/components.hpp"

namespace abh::proof {

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
