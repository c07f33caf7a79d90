#pragma once

#include <string>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/feed_forward.hpp"
#include "chapters/14_on_many_machines/ranks/ranks.hpp"

namespace abh {
// [feed-forward]
/// One rank's share of a feed-forward layer: some hidden units. Shoeybi et al. 2019, section 3.
///
/// Every rank calls forward and backward with the same `x` and `dy`, and gets the same bits.
class FeedForwardShard {
public:
    using Cache = FeedForward::Cache;

    /// Copies this rank's share of `whole`, which is the same on every rank.
    /// @param ranks  must outlive this
    /// @throws std::invalid_argument if the number of ranks does not divide d_ff
    FeedForwardShard(const FeedForward& whole, Ranks& ranks);

    /// @param x  `[B, L, d_model]`, the same on every rank
    /// @return   what the whole layer returns, the same shape
    /// @throws std::invalid_argument if x has another shape
    Tensor forward(const Tensor& x, Cache* cache = nullptr) const;
    /// Adds to the gradients of this rank's parameters.
    /// @param dy  gradient of the loss with respect to the result
    /// @return    `dx` of the whole layer, the same shape
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name) { part.collect(list, name); }

    FeedForward part;  ///< d_model to d_ff / ranks to d_model; only rank 0 has the last bias

private:
    Ranks& ranks_;
};
// [self-attention]
/// One rank's share of multi-head self-attention: some of the heads, and the map from them to what
/// they add to the result.
class SelfAttentionShard {
public:
    using Cache = MultiHeadAttention::Cache;

    /// Copies this rank's share of `whole`, which is the same on every rank.
    /// @param ranks  must outlive this
    /// @throws std::invalid_argument if the number of ranks does not divide that of heads, or if
    ///         the heads share one projection
    SelfAttentionShard(const MultiHeadAttention& whole, Ranks& ranks);

    /// @param x     `[B, L, d_model]`, the same on every rank: query, key and value
    /// @param mask  which positions each one may attend to, the same for all heads
    /// @return      what the whole layer returns, the same shape, with the same bits on every rank
    /// @throws std::invalid_argument if shapes do not fit
    Tensor forward(const Tensor& x, const AttentionMask& mask, Cache* cache = nullptr) const;
    /// Adds to the gradients of this rank's parameters.
    /// @param dy  gradient of the loss with respect to the result
    /// @return    `dx` of the whole layer, the sum of those of query, key and value
    Tensor backward(const Tensor& dy, const Cache& cache);

    void collect(Parameters& list, const std::string& name);

private:
    Index n_heads_;  // of this rank
    AttentionOptions options_;
    Ranks& ranks_;

public:
    Linear w_q, w_k, w_v;  ///< d_model to d_model / ranks
    Linear w_o;            ///< d_model / ranks to d_model; only rank 0 has the bias
};

}  // namespace abh
