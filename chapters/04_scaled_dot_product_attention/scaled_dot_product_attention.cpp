#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.cuh"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/matmul.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [softmax]
Tensor softmax(const Tensor& x) {
    const Timed timed("softmax");
    require(x.rank() >= 1 && x.dim(-1) >= 1, "softmax: x has shape {}, its last axis is empty",
            x.shape());
    const Index n = x.dim(-1);
    Tensor y(x.shape());
    if (on_cuda()) return cuda::softmax(y, x), y;
    parallel_ranges(rows(x.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Real* const scores = x.data() + r * n;
            Real* const weights = y.data() + r * n;
            const Real largest = ConstVectorMap(scores, n).maxCoeff();
            prefetch(scores + n, r + 1 < end ? n : 0);  // while this row is computed
            const Real sum = exp_and_sum(scores, largest, weights, n);  // >= 1
            VectorMap(weights, n) *= 1 / sum;
        }
    });
    return y;
}
// [softmax: backward]
// forward was:  y = exp(x - max) / sum     so     dy_i/dx_j = y_i (1[i=j] - y_j)
// hence:        dx = y * (dy - <dy, y>)    row by row
Tensor softmax_backward(const Tensor& dy, const Tensor& y) {
    const Timed timed("softmax");
    require_shape(dy.shape(), y.shape(), "softmax backward", "dy");
    Tensor dx(y.shape());
    if (on_cuda()) return cuda::softmax_backward(dx, dy, y), dx;
    parallel_ranges(rows(y.shape()), 64, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const auto weights = matrix(y).row(r), dweights = matrix(dy).row(r);
            matrix(dx).row(r) = weights.array() * (dweights.array() - dweights.dot(weights));
        }
    });
    return dx;
}
// [checks]
void check_attention(const Shape& q, const Shape& k, const Shape& v, const Mask& mask) {
    require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
            "attention: q {}, k {} and v {} must have four axes", q, k, v);
    require(k[3] == q[3], "attention: key has d_k {}, query has {}", k[3], q[3]);
    require(k.with(3, 1) == v.with(3, 1), "attention: key has shape {}, value {}", k, v);
    require(q[0] == k[0] && q[1] == k[1],
            "attention: query has shape {}, key {}: batch or heads differ", q, k);
    require(k[2] >= 1 && k[3] >= 1,
            "attention: k has shape {}, expected at least one key and one column", k);
    if (mask.empty()) return;
    const Shape scores = q.with(3, k[2]);
    require(mask.rank() == 4,
            "attention: mask has shape {}, scores {}: insert an axis for the heads", mask.shape(),
            scores);
    for (int axis = 0; axis < 4; ++axis)
        require(mask.dim(axis) == 1 || mask.dim(axis) == scores[axis],
                "attention: mask of shape {} does not fit scores of shape {}", mask.shape(),
                scores);
}

Real scale_of(const AttentionOptions& options, Index d_k) {
    return options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<Real>(d_k));
}

Real fill_of(const AttentionOptions& options, Index d_k) {
    return options.fill_place == FillPlace::before_scale ? options.fill * scale_of(options, d_k)
                                                         : options.fill;
}
// [mask]
namespace {

/// `scores[b, h, i, j] = value` wherever the mask hides key j from query i.
void overwrite_hidden(Tensor& scores, const Mask& mask, MaskMeaning meaning, Real value) {
    const Timed timed("mask");
    if (mask.empty()) return;
    if (on_cuda()) return cuda::overwrite_hidden(scores, mask, meaning, value);
    const bool hide = meaning == MaskMeaning::hide;
    const auto at = [&](int axis, Index i) { return mask.dim(axis) == 1 ? 0 : i; };
    parallel_for(scores.dim(0), [&](Index b) {
        for (Index h = 0; h < scores.dim(1); ++h)
            for (Index i = 0; i < scores.dim(2); ++i)
                for (Index j = 0; j < scores.dim(3); ++j)
                    if ((mask(at(0, b), at(1, h), at(2, i), at(3, j)) != 0) == hide)
                        scores(b, h, i, j) = value;
    });
}

}  // namespace
// [attention]
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                 const AttentionOptions& options, AttentionCache* cache, Tensor* weights) {
    check_attention(q.shape(), k.shape(), v.shape(), mask);
    const Real scale = scale_of(options, q.dim(3));

    Tensor scores = matmul(q, k, {.transpose_b = true, .scale = scale});  // [B, H, Lq, Lk]
    overwrite_hidden(scores, mask, options.mask_meaning, fill_of(options, q.dim(3)));
    Tensor w = softmax(scores);  // [B, H, Lq, Lk]
    Tensor y = matmul(w, v);     // [B, H, Lq, d_v]

    if (cache) *cache = {q, k, v, w, mask, options};
    if (weights) *weights = w;
    return y;
}
// [attention: backward]
// forward was:  y = w v,  w = softmax(s),  s = scale * q k^T with hidden scores overwritten
// hence:        dv = w^T dy,  dw = dy v^T,  ds = softmax backward of dw, 0 where overwritten,
//               dq = scale * ds k,  dk = scale * ds^T q
AttentionGradients attention_backward(const Tensor& dy, const AttentionCache& cache) {
    const Tensor &q = cache.q, &k = cache.k, &v = cache.v, &w = cache.weights;
    require_shape(dy.shape(), q.shape().with(3, v.dim(3)), "attention backward", "dy");
    const Real scale = scale_of(cache.options, q.dim(3));

    Tensor dv = matmul(w, dy, {.transpose_a = true});  // [B, H, Lk, d_v]
    Tensor dw = matmul(dy, v, {.transpose_b = true});  // [B, H, Lq, Lk]
    Tensor ds = softmax_backward(dw, w);               // [B, H, Lq, Lk]
    overwrite_hidden(ds, cache.mask, cache.options.mask_meaning, 0);
    Tensor dq = matmul(ds, k, {.scale = scale});                       // [B, H, Lq, d_k]
    Tensor dk = matmul(ds, q, {.transpose_a = true, .scale = scale});  // [B, H, Lk, d_k]
    return {dq, dk, dv};
}

}  // namespace abh
