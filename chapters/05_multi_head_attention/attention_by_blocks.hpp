#pragma once

#include "chapters/03_masks/packing.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

namespace abh {
// [packed]
/// How queries and keys stand in their tensors, where pads are left out.
struct Packed {
    Packing queries, keys;  ///< of the same sentences; both empty: nothing is left out

    bool empty() const { return queries.empty(); }
};
// [by blocks]
/// What `attention_by_blocks_backward` needs: no weights, which it computes anew.
struct BlockAttentionCache {
    Tensor q, k, v;         ///< the inputs
    Tensor context;         ///< the result
    Tensor largest, total;  ///< of each query's scores, the sum of exp(score - largest); [B, H, Lq]
    Mask mask;              ///< as given
    Index n_heads = 0;
    AttentionOptions options;
    Packed packed;
};

/// `join_heads(attention(split_heads(q), split_heads(k), split_heads(v)))`, some queries and some
/// keys at a time: memory grows with the length, not with its square. Nothing is split or joined:
/// head h reads and writes its own columns.
///
/// The running maximum and sum of each query: Milakov and Gimelshein 2018; the backward pass that
/// computes weights anew: Dao et al. 2022.
///
/// @param q        `[B, Lq, d_model]`
/// @param k        `[B, Lk, d_model]`
/// @param v        `[B, Lk, d_model]`
/// @param n_heads  divides `d_model`
/// @param mask     as for `attention`
/// @param cache    filled for `attention_by_blocks_backward`
/// @param packed   if given, q, k, v and the result are packed, `[1, rows, d_model]`; the mask is
///                 still that of the padded sentences, and must hide the keys that are left out
/// @return         the shape of `q`
/// @throws std::invalid_argument if the shapes do not fit
Tensor attention_by_blocks(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                           const Mask& mask, const AttentionOptions& options = {},
                           BlockAttentionCache* cache = nullptr, const Packed& packed = {});
/// @param dcontext  gradient of the loss with respect to the result, `[B, Lq, d_model]`
/// @return          gradients, of the shapes of q, k and v
AttentionGradients attention_by_blocks_backward(const Tensor& dcontext,
                                                const BlockAttentionCache& cache);

}  // namespace abh
