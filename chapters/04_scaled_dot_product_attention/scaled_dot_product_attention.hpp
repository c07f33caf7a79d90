#pragma once

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
/// Whether hidden scores are overwritten after the scaling or before it.
enum class FillPlace { after_scale, before_scale };

/// Choices that the sources of this book make differently. The defaults are the paper's, except for
/// the fill, which is -infinity in the paper.
struct AttentionOptions {
    Real scale = 0;          ///< factor of the scores; 0 means 1/sqrt(d_k)
    Real fill = Real(-1e9);  ///< what overwrites a hidden score
    FillPlace fill_place = FillPlace::after_scale;
};
// [attention: pieces]
/// The factor of the scores.
Real scale_of(const AttentionOptions& options, Index d_k);
/// The value of a hidden score when softmax reads it.
Real fill_of(const AttentionOptions& options, Index d_k);
/// @param q  shape of the queries, `[B, H, Lq, d_k]`; `k` and `v` likewise
/// @throws std::invalid_argument naming the shapes that do not fit; also for a mask of three axes
void check_attention(const Shape& q, const Shape& k, const Shape& v, const Mask& mask);
/// `scores[b, h, i, j] = value` wherever the mask is 1. PyTorch's `masked_fill_`.
/// @param mask  four axes, each of the size in `scores` or 1; empty: nothing is overwritten
void masked_fill(Tensor& scores, const Mask& mask, Real value);
// [attention]
/// What `attention_backward` needs.
struct AttentionCache {
    Tensor q, k, v;  ///< the inputs
    Tensor weights;  ///< [B, H, Lq, Lk]
    Mask mask;       ///< as given
    AttentionOptions options;
    Way way = Way::fast;  ///< of the forward pass
};

/// Scaled dot-product attention, `softmax(scale * q k^T, hidden scores overwritten) v`.
///
/// @param q        queries `[B, H, Lq, d_k]`
/// @param k        keys `[B, H, Lk, d_k]`, Lk >= 1
/// @param v        values `[B, H, Lk, d_v]`
/// @param mask     four axes, each of the size in `[B, H, Lq, Lk]` or 1; 1 = hide; empty hides
///                 nothing
/// @param cache    filled for `attention_backward`; leave it out at inference
/// @param weights  if given, receives the weights `[B, H, Lq, Lk]`
/// @return         `[B, H, Lq, d_v]`: for each query, a weighted mean of the values
///
/// With a fill far below the scores, a hidden key has weight 0 for a query that sees another key.
/// A query with every key hidden gets equal weights for all keys, because the fill is finite; with
/// a fill of -infinity, it gets NaN.
///
/// @throws std::invalid_argument if the shapes do not fit; also for a mask of three axes
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                 const AttentionOptions& options = {}, AttentionCache* cache = nullptr,
                 Tensor* weights = nullptr);
/// The weights alone, `[B, H, Lq, Lk]`.
Tensor attention_weights(const Tensor& q, const Tensor& k, const Mask& mask,
                         const AttentionOptions& options = {});
// [attention: backward]
/// What `attention_backward` returns.
struct AttentionGradients {
    Tensor dq, dk, dv;  ///< shapes of q, k, v
};

/// Gradients of `attention` with respect to queries, keys and values.
/// @param dy  gradient of the loss with respect to the result, `[B, H, Lq, d_v]`
AttentionGradients attention_backward(const Tensor& dy, const AttentionCache& cache);

}  // namespace abh
