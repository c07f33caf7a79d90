#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"

#include <cmath>

#include "chapters/03_masks/masks.hpp"
#include "lib/matmul.hpp"

namespace abh {
namespace plain {
decltype(masked_fill) masked_fill;
}
namespace cuda {
decltype(masked_fill) masked_fill;
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
    check_mask(mask, q.with(3, k[2]));
}

Real scale_of(const AttentionOptions& options, Index d_k) {
    return options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<Real>(d_k));
}

Real fill_of(const AttentionOptions& options, Index d_k) {
    return options.fill_place == FillPlace::before_scale ? options.fill * scale_of(options, d_k)
                                                         : options.fill;
}
// [mask]
void masked_fill(Tensor& scores, const Mask& mask, Real value) {
    if (mask.empty()) return;
    Ways{"mask", plain::masked_fill, plain::masked_fill, cuda::masked_fill}(scores, mask, value);
}

void plain::masked_fill(Tensor& scores, const Mask& mask, Real value) {
    for (Index b = 0; b < scores.dim(0); ++b)
        for (Index h = 0; h < scores.dim(1); ++h)
            for (Index i = 0; i < scores.dim(2); ++i)
                for (Index j = 0; j < scores.dim(3); ++j)
                    if (at_score(mask, b, h, i, j) != 0) scores(b, h, i, j) = value;
}
// [attention: around it]
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                 const AttentionOptions& options, AttentionCache* cache, Tensor* weights) {
    check_attention(q.shape(), k.shape(), v.shape(), mask);
    const Real scale = scale_of(options, q.dim(3)), fill = fill_of(options, q.dim(3));
    // [attention]
    Tensor scores = matmul(q, k, {.transpose_b = true, .scale = scale});  // [.., Lq, Lk]
    masked_fill(scores, mask, fill);                                      // 1 in the mask: hidden
    Tensor w = softmax(scores);                                           // each row sums to 1
    Tensor y = matmul(w, v);                                              // [.., Lq, d_v]
    // [attention: what is kept]
    if (cache) *cache = {q, k, v, w, mask, options, way()};
    if (weights) *weights = w;
    return y;
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const Mask& mask,
                         const AttentionOptions& options) {
    Tensor weights;
    const Tensor no_values = Tensor::zeros(k.shape().with(3, 1));
    attention(q, k, no_values, mask, options, nullptr, &weights);
    return weights;
}
// [attention: around its backward]
AttentionGradients attention_backward(const Tensor& dy, const AttentionCache& cache) {
    const Tensor &q = cache.q, &k = cache.k, &v = cache.v, &w = cache.weights;
    require_shape(dy.shape(), q.shape().with(3, v.dim(3)), "attention backward", "dy");
    const ScopedWay scoped(cache.way);
    const Real scale = scale_of(cache.options, q.dim(3));
    // [attention: backward]
    // forward was:  y = w v,  w = softmax(s),  s = scale * q k^T with hidden scores overwritten
    Tensor dv = matmul(w, dy, {.transpose_a = true});  // [.., Lk, d_v]
    Tensor dw = matmul(dy, v, {.transpose_b = true});  // [.., Lq, Lk]
    Tensor ds = softmax_backward(dw, w);               // [.., Lq, Lk]
    masked_fill(ds, cache.mask, 0);
    Tensor dq = matmul(ds, k, {.scale = scale});                       // [.., Lq, d_k]
    Tensor dk = matmul(ds, q, {.transpose_a = true, .scale = scale});  // [.., Lk, d_k]
    // [attention: its gradients]
    return {dq, dk, dv};
}

}  // namespace abh
