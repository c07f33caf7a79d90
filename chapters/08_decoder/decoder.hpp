#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chapters/07_encoder/encoder.hpp"
#include "lib/part.hpp"

namespace abh {
// [layer]
/// Masked self-attention, cross-attention to the encoder's output, then feed-forward, each in its
/// residual connection with layer norm. Vaswani et al. 2017, section 3.1.
class DecoderLayer {
public:
    struct Cache {
        MultiHeadAttention::Cache self_attn, cross_attn;
        FeedForward::Cache ff;
        AddNorm::Cache norm1, norm2, norm3;
    };
    /// Attention weights of one layer.
    struct AttentionWeights {
        Tensor self;   ///< [B, H, Lt, Lt]
        Tensor cross;  ///< [B, H, Lt, Ls]
    };
    struct Gradients {
        Tensor dx;       ///< [B, Lt, d_model]
        Tensor dmemory;  ///< [B, Ls, d_model]
    };

    DecoderLayer(const LayerOptions& options, Random& random);

    /// @param x           `[B, Lt, d_model]`
    /// @param memory      the encoder's output `[B, Ls, d_model]`
    /// @param self_mask   which words of the target each one sees: not the future, not pads
    /// @param cross_mask  which words of the source each one sees: not pads
    /// @param cache       filled for `backward`; leave it out at inference, which turns dropout off
    /// @param weights     if given, receives the weights of both attention blocks
    /// @return            `[B, Lt, d_model]`
    /// @throws std::invalid_argument if `x` has another shape, memory's batch or width differs from
    ///         that of `x`, or a mask does not fit
    Tensor forward(const Tensor& x, const Tensor& memory, const AttentionMask& self_mask,
                   const AttentionMask& cross_mask, Cache* cache = nullptr,
                   AttentionWeights* weights = nullptr) const;
    /// The layer with other attentions: `self(h)` and `cross(h)` return what these compute for the
    /// query `h`, `[B, Lt, d_model]`.
    Tensor around(const Tensor& x, const auto& self, const auto& cross) const;
    /// Adds to the gradients of all parameters.
    /// @param dy  gradient of the loss with respect to the result, `[B, Lt, d_model]`
    Gradients backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    MultiHeadAttention self_attn;
    AddNorm norm1;
    MultiHeadAttention cross_attn;
    AddNorm norm2;
    FeedForward ff;
    AddNorm norm3;
};
// [layer: other attentions]
Tensor DecoderLayer::around(const Tensor& x, const auto& self, const auto& cross) const {
    const Tensor x1 = norm1.after(x, self(norm1.before(x)));
    const Tensor x2 = norm2.after(x1, cross(norm2.before(x1)));
    return norm3.after(x2, ff.forward(norm3.before(x2)));
}
// [decoder]
/// A stack of decoder layers, all of which look at the same encoder output.
class Decoder {
public:
    struct Cache {
        std::vector<DecoderLayer::Cache> layers;
        LayerNorm::Cache norm;
    };
    using Gradients = DecoderLayer::Gradients;
    using AttentionWeights = DecoderLayer::AttentionWeights;

    /// @throws std::invalid_argument unless there is at least one layer
    Decoder(const LayerOptions& options, Index n_layers, Random& random);

    /// Arguments as of `DecoderLayer::forward`; memory and masks are the same for every layer.
    /// @param weights  if given, receives the attention weights of every layer
    Tensor forward(const Tensor& x, const Tensor& memory, const AttentionMask& self_mask,
                   const AttentionMask& cross_mask, Cache* cache = nullptr,
                   std::vector<AttentionWeights>* weights = nullptr) const;
    /// Adds to the gradients of all parameters. That of `memory` is the sum over all layers.
    Gradients backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    std::vector<DecoderLayer> layers;
    std::optional<LayerNorm> norm;  ///< after the last layer, with `NormPlacement::pre` only
};

}  // namespace abh
