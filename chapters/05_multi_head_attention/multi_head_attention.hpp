#pragma once

#include <string>
#include <string_view>

#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/linear.hpp"

namespace abh {
// [options]
/// Choices on which the sources of this book differ; the defaults are PyTorch's, except for the
/// fill of hidden scores.
struct MultiHeadOptions {
    Index d_model = 512;
    Index n_heads = 8;
    bool bias_qkv = true;  ///< biases in the projections of queries, keys and values
    bool bias_out = true;  ///< bias in the output projection
    /// One d_k x d_k projection that all heads share, instead of one of d_model x d_model.
    bool shared_head_projections = false;
    AttentionOptions attention = {};
};
// [multi-head attention]
/// `join(attention of each head) W_O^T + b_O`, where head h works on its own d_k columns of
/// `query W_Q^T + b_Q`, and of key and value likewise. Vaswani et al. 2017, section 3.2.2.
class MultiHeadAttention {
public:
    struct Cache {
        Linear::Cache q, k, v, out;
        AttendHeadsCache attention;
    };
    struct Gradients {
        Tensor dquery, dkey, dvalue;  ///< shapes of query, key, value
    };

    /// @throws std::invalid_argument if `n_heads` does not divide `d_model`
    MultiHeadAttention(const MultiHeadOptions& options, Random& random);

    /// @param query    `[B, Lq, d_model]`
    /// @param key      `[B, Lk, d_model]`
    /// @param value    `[B, Lk, d_model]`
    /// @param mask     which keys each query sees
    /// @param cache    filled for `backward`; leave it out at inference
    /// @param weights  if given, receives the attention weights `[B, H, Lq, Lk]`
    /// @return         `[B, Lq, d_model]`
    /// @throws std::invalid_argument if shapes do not fit
    Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value,
                   const AttentionMask& mask, Cache* cache = nullptr,
                   Tensor* weights = nullptr) const;
    /// Adds to the gradients of the four projections. In self-attention, query, key and value are
    /// the same tensor, so its gradient is the sum of the three.
    /// @param dy  gradient of the loss with respect to the result, `[B, Lq, d_model]`
    Gradients backward(const Tensor& dy, const Cache& cache);
    // [multi-head attention: projections]
    /// Applies one projection, `w_q`, `w_k` or `w_v`, to `x`: by slices if all heads share it.
    /// @param x  `[B, L, d_model]` @return the same shape
    Tensor project(const Linear& projection, const Tensor& x, Linear::Cache* cache = nullptr) const;

    void collect(Parameters& list, const std::string& name);

    const MultiHeadOptions& options() const { return options_; }

private:
    Tensor slices(const Tensor& x, std::string_view name) const;
    Tensor project_backward(Linear& projection, const Tensor& dy, const Linear::Cache& cache) const;

    MultiHeadOptions options_;

public:
    Linear w_q, w_k, w_v;  ///< d_model to d_model; d_k to d_k with `shared_head_projections`
    Linear w_o;            ///< d_model to d_model
};

}  // namespace abh
