#pragma once

#include <string>

#include "chapters/02_positional_encoding/dropout.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "chapters/15_language_model/either.hpp"
#include "chapters/15_language_model/gated_feed_forward.hpp"
#include "chapters/15_language_model/grouped_attention.hpp"
#include "chapters/15_language_model/rms_norm.hpp"

namespace abh {
// [options]
/// How a block is built; the defaults are a Llama's. Each part can be what it was in 2017.
struct BlockOptions {
    GroupedAttentionOptions attention = {};
    Index d_ff = 2048;
    bool rms_norm = true;  ///< false: layer norm
    bool gated = true;     ///< false: chapter 6's feed-forward, with ReLU and biases
    Real eps = Real(1e-5);
    Real dropout = 0;  ///< on what each sublayer adds
};
// [block]
/// Self-attention, then feed-forward, each after a norm, and each added to the stream:
///
///     x1 = x + attention(norm1(x)),    y = x1 + feed_forward(norm2(x1))
class Block {
public:
    using Norm = Either<RmsNorm, LayerNorm>;
    using Network = Either<GatedFeedForward, FeedForward>;
    struct Cache {
        Norm::Cache norm1, norm2;
        GroupedAttention::Cache attention;
        Network::Cache network;
        Dropout::Cache dropout1, dropout2;
    };

    Block(const BlockOptions& options, Random& random);

    /// @param x        `[B, L, d_model]`
    /// @param cache    filled for `backward`; leave it out at inference, which turns dropout off
    /// @param packing  where sentences begin, if `x` is `[1, rows, d_model]` without pads
    /// @param weights  if given, receives the attention weights `[B, H, L, L]`
    /// @return         `[B, L, d_model]`
    Tensor forward(const Tensor& x, Cache* cache = nullptr, const Packing& packing = {},
                   Tensor* weights = nullptr) const;
    /// The next row of a text after `length` others, or its first rows: see `GroupedAttention`.
    Tensor next(const Tensor& x, KeyValues& kv, Index length) const;
    /// Adds to the gradients of all parameters. @return `dx`, `[B, L, d_model]`
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

    Norm norm1;
    GroupedAttention attention;
    Norm norm2;
    Network network;

private:
    Dropout dropout1_, dropout2_;
};
/// The norm that the options name.
Block::Norm make_norm(const BlockOptions& options);

}  // namespace abh
