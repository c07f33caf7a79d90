#pragma once

#include <variant>

#include "chapters/03_masks/attention_mask.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/way.hpp"

namespace abh {
// [cache]
/// What backward needs when attention was computed block by block. It holds no weights, because
/// backward computes them again.
struct BlockwiseCache {
    Tensor q, k, v;           ///< the inputs
    Tensor context;           ///< the result
    Tensor row_max, row_sum;  ///< each query's max and sum of exp(score - max); [B, H, Lq]
    AttentionMask mask;
    AttentionOptions options;
};

/// What `attend_heads_backward` needs. The ways keep different things, and the variant says which.
struct AttendHeadsCache {
    Way way = Way::fast;
    Index n_heads = 0;
    std::variant<std::monostate, AttentionCache, BlockwiseCache> kept = {};
};
// [attend heads]
/// Attention of all heads: `join_heads(attention(split_heads(q), split_heads(k), split_heads(v)))`.
///
/// @param q        `[B, Lq, d_model]`; packed sentences: `[1, rows, d_model]`
/// @param k        `[B, Lk, d_model]`, or packed
/// @param v        the shape of `k`
/// @param n_heads  divides `d_model`
/// @param cache    filled for `attend_heads_backward`; leave it out at inference
/// @param weights  if given, receives the attention weights `[B, H, Lq, Lk]`; the result has the
///                 same bits without it
/// @return         the shape of `q`
///
/// If the fill is finite, a query whose keys are all hidden gives the same weight to every key of
/// its sentence. Packed sentences have no such query, because none may begin with a hidden pad.
///
/// @throws std::invalid_argument if shapes do not fit, or as `AttentionMask::check`; for packed
///         sentences, also if the fill is above -10,000, which would let them see each other, or if
///         weights are requested
Tensor attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                    const AttentionMask& mask, const AttentionOptions& options = {},
                    AttendHeadsCache* cache = nullptr, Tensor* weights = nullptr);
/// @param dy  gradient of the loss with respect to the result
/// @return    gradients, of the shapes of q, k and v
/// @throws std::invalid_argument if the cache is empty, or unless `dy` has the result's shape
AttentionGradients attend_heads_backward(const Tensor& dy, const AttendHeadsCache& cache);
/// The shape of the scores, `[B, H, Lq, Lk]`; for packed sentences, as if they were padded.
/// @throws std::invalid_argument if the shapes of q, k and v do not fit
Shape scores_shape(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                   const AttentionMask& mask);

}  // namespace abh
