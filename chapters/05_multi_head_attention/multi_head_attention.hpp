#pragma once

#include <array>
#include <string>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "chapters/05_multi_head_attention/attention_by_blocks.hpp"
#include "lib/linear.hpp"

namespace abh {
// [split and join]
/// `[B, L, H * d_k]` becomes `[B, H, L, d_k]`: head h takes columns h * d_k to (h + 1) * d_k - 1.
/// @throws std::invalid_argument if `n_heads` does not divide the last axis
Tensor split_heads(const Tensor& x, Index n_heads);
/// The inverse of `split_heads`: `[B, H, L, d_k]` becomes `[B, L, H * d_k]`.
Tensor join_heads(const Tensor& x);
// [options]
/// Where the sources of this book differ; the defaults are PyTorch's.
struct MultiHeadOptions {
    Index d_model = 512;
    Index n_heads = 8;
    bool bias_qkv = true;  ///< biases in the maps of queries, keys and values
    bool bias_out = true;  ///< bias in the output map
    /// One d_k x d_k map that all heads share, instead of a d_model x d_model map.
    bool shared_head_maps = false;
    AttentionOptions attention = {};
};
// [multi-head attention]
/// `join(attention of each head) W_O`, where head h sees `query W_Q`, `key W_K`, `value W_V` in its
/// own d_k columns. Vaswani et al. 2017, section 3.2.2.
class MultiHeadAttention {
public:
    struct Cache {
        Linear::Cache q, k, v, out;
        AttentionCache attention;       ///< where weights were asked for
        BlockAttentionCache by_blocks;  ///< elsewhere
    };
    struct Gradients {
        Tensor dquery, dkey, dvalue;  ///< shapes of query, key, value
    };

    /// @throws std::invalid_argument if `n_heads` does not divide `d_model`
    MultiHeadAttention(const MultiHeadOptions& options, Random& random);

    /// @param query    `[B, Lq, d_model]`
    /// @param key      `[B, Lk, d_model]`
    /// @param value    `[B, Lk, d_model]`
    /// @param mask     `[B, Lq, Lk]`, the same for all heads; or four axes, as for `attention`; or
    ///                 empty
    /// @param cache    filled for `backward`; leave it out at inference
    /// @param weights  if given, receives the weights `[B, H, Lq, Lk]`
    /// @param packed   as for `attention_by_blocks`
    /// @return         `[B, Lq, d_model]`
    /// @throws std::invalid_argument if shapes do not fit, or weights of packed sentences are asked
    ///         for
    Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                   Cache* cache = nullptr, Tensor* weights = nullptr,
                   const Packed& packed = {}) const;
    /// Adds to the gradients of the four maps. In self-attention, where query, key and value are
    /// one tensor, its gradient is the sum of the three.
    /// @param dy  gradient of the loss with respect to the result, `[B, Lq, d_model]`
    Gradients backward(const Tensor& dy, const Cache& cache);
    // [multi-head attention: one input]
    /// `backward` where query, key and value were one tensor; adds to the same gradients.
    /// @param dy  `[B, L, d_model]` @return the gradient of that tensor, `[B, L, d_model]`
    Tensor self_backward(const Tensor& dy, const Cache& cache);
    struct CrossGradients {
        Tensor dquery, dmemory;
    };
    /// `backward` where key and value were one tensor, the memory.
    CrossGradients cross_backward(const Tensor& dy, const Cache& cache);
    // [multi-head attention: pieces]
    /// `x W` of one map, `w_q`, `w_k` or `w_v`. @param x  `[B, L, d_model]` @return the same shape
    Tensor map(const Linear& linear, const Tensor& x, Linear::Cache* cache = nullptr) const;
    /// `query W_Q`, `key W_K` and `value W_V`. Where key and value are one tensor, their products
    /// are made together, and the query's with them if it is that tensor, too.
    std::array<Tensor, 3> map_all(const Tensor& query, const Tensor& key, const Tensor& value,
                                  Cache* cache = nullptr) const;
    /// `x W` cut into heads, `[B, L, d_model]` to `[B, H, L, d_k]`.
    /// @param map  one of `w_q`, `w_k`, `w_v`
    Tensor heads(const Linear& map, const Tensor& x, Linear::Cache* cache = nullptr) const;
    /// Attention over heads that are already there, and the output map.
    /// @param q  `[B, H, Lq, d_k]`
    /// @param k  `[B, H, Lk, d_k]`
    /// @param v  `[B, H, Lk, d_k]`
    /// @return   `[B, Lq, d_model]`
    Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                  Cache* cache = nullptr, Tensor* weights = nullptr) const;

    void collect(Parameters& list, const std::string& name);

    const MultiHeadOptions& options() const { return options_; }

private:
    Tensor as_mapped(const Tensor& x) const;
    Tensor map_backward(Linear& linear, const Tensor& dy, const Linear::Cache& cache) const;
    AttentionGradients before_maps(const Tensor& dy, const Cache& cache);

    MultiHeadOptions options_;

public:
    Linear w_q, w_k, w_v;  ///< d_model to d_model; d_k to d_k with `shared_head_maps`
    Linear w_o;            ///< d_model to d_model
};

}  // namespace abh
