#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/add_norm.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"

namespace abh {
// [options]
/// How an encoder or decoder layer is built, which the sources of this book do differently.
struct LayerOptions {
    MultiHeadOptions attention;  ///< of every attention block; its `d_model` is the layer's width
    Index d_ff = 2048;           ///< width inside the feed-forward network
    bool ff_bias = true;
    AddNormOptions add_norm;  ///< around every sublayer
    Activation activation = Activation::relu;
};
// [layers of the sources]
/// The Chinese-English toy: no biases, and a layer norm that is not learned.
LayerOptions toy_layer();
/// The German-English notebook: biases everywhere, and the learned norm that it leaves out.
LayerOptions notebook_layer();
/// The shared-head block: small shared projections without biases, scores times 1/sqrt(d_model).
LayerOptions shared_head_layer();
// [layer]
/// Self-attention, then feed-forward, each in its residual connection with layer norm.
/// Vaswani et al. 2017, section 3.1.
class EncoderLayer {
public:
    struct Cache {
        MultiHeadAttention::Cache self_attn;
        FeedForward::Cache ff;
        AddNorm::Cache norm1, norm2;
    };

    /// Draws its own weights. A copy would share them, so construct each layer separately.
    EncoderLayer(const LayerOptions& options, Random& random);

    /// @param x        `[B, L, d_model]`
    /// @param mask     which words each word sees
    /// @param cache    filled for `backward`; leave it out at inference, which turns dropout off
    /// @param weights  if given, receives the attention weights `[B, H, L, L]`
    /// @return         `[B, L, d_model]`
    /// @throws std::invalid_argument for other shapes
    Tensor forward(const Tensor& x, const AttentionMask& mask, Cache* cache = nullptr,
                   Tensor* weights = nullptr) const;
    /// Adds to the gradients of all parameters.
    /// @param dy  gradient of the loss with respect to the result, `[B, L, d_model]`
    /// @return    `dx`, `[B, L, d_model]`
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    MultiHeadAttention self_attn;
    AddNorm norm1;
    FeedForward ff;
    AddNorm norm2;
};
// [encoder]
/// A stack of layers, each with its own weights. With the norm before the sublayers (pre), a last
/// layer norm follows the stack.
class Encoder {
public:
    struct Cache {
        std::vector<EncoderLayer::Cache> layers;
        LayerNorm::Cache norm;
    };

    /// @throws std::invalid_argument unless there is at least one layer
    Encoder(const LayerOptions& options, Index n_layers, Random& random);

    /// @param x        word vectors with positions, `[B, L, d_model]`
    /// @param mask     the same for every layer
    /// @param weights  if given, receives the attention weights `[B, H, L, L]` of every layer
    /// @return         `[B, L, d_model]`
    Tensor forward(const Tensor& x, const AttentionMask& mask, Cache* cache = nullptr,
                   std::vector<Tensor>* weights = nullptr) const;
    /// Adds to the gradients of all parameters. @return `dx`, `[B, L, d_model]`
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    std::vector<EncoderLayer> layers;
    std::optional<LayerNorm> norm;  ///< after the last layer, with `NormPlacement::pre` only
};

}  // namespace abh
