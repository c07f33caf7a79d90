#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chapters/07_encoder/encoder.hpp"

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
    struct Maps {
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
    /// @param self_mask   `[B, Lt, Lt]`: the future, and pads of the target
    /// @param cross_mask  `[B, Lt, Ls]`: pads of the source
    /// @param cache       filled for `backward`; leave it out at inference, which turns dropout off
    /// @param maps        if given, receives the weights of both attention blocks
    /// @param packed      if given, x and the result are packed as its queries, memory as its keys
    /// @return            `[B, Lt, d_model]`
    /// @throws std::invalid_argument if memory is of another batch or width, or a mask does not fit
    Tensor forward(const Tensor& x, const Tensor& memory, const Mask& self_mask,
                   const Mask& cross_mask, Cache* cache = nullptr, Maps* maps = nullptr,
                   const Packed& packed = {}) const;
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
// [decoder]
/// A stack of decoder layers, all of which look at the same encoder output.
class Decoder {
public:
    struct Cache {
        std::vector<DecoderLayer::Cache> layers;
        LayerNorm::Cache norm;
    };
    using Gradients = DecoderLayer::Gradients;

    /// @throws std::invalid_argument unless there is at least one layer
    Decoder(const LayerOptions& options, Index n_layers, Random& random);

    /// The arguments are those of `DecoderLayer::forward`; memory and masks serve every layer.
    /// @param maps  if given, receives the attention weights of every layer
    Tensor forward(const Tensor& x, const Tensor& memory, const Mask& self_mask,
                   const Mask& cross_mask, Cache* cache = nullptr,
                   std::vector<DecoderLayer::Maps>* maps = nullptr,
                   const Packed& packed = {}) const;
    /// Adds to the gradients of all parameters. The gradient with respect to `memory` is the sum
    /// over all layers.
    Gradients backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    std::vector<DecoderLayer> layers;
    std::optional<LayerNorm> norm;  ///< after the last layer, with `NormPlacement::pre` only
};

}  // namespace abh
