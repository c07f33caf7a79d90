#include "chapters/05_multi_head_attention/attend_heads.hpp"

#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(attend_heads) attend_heads;
decltype(attend_heads_backward) attend_heads_backward;
}  // namespace plain
namespace fast {
decltype(attend_heads) attend_heads;
decltype(attend_heads_backward) attend_heads_backward;
}  // namespace fast
namespace cuda {
decltype(attend_heads) attend_heads;
decltype(attend_heads_backward) attend_heads_backward;
}  // namespace cuda
// [checks]
namespace {

/// The shape that `x` has after `split_heads`, as if it were padded.
Shape shape_of_heads(const Tensor& x, Index n_heads, const Packing& p) {
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % n_heads == 0,
            "attention: x has shape {}, its last axis is not divisible by {} heads", x.shape(),
            n_heads);
    const Index d_k = x.dim(2) / n_heads;
    if (p.empty()) return {x.dim(0), n_heads, x.dim(1), d_k};
    require(x.dim(0) == 1 && x.dim(1) == p.rows(),
            "attention: x has shape {}, expected [1, {}, d_model] for packed sentences", x.shape(),
            p.rows());
    return {p.sentences(), n_heads, p.length, d_k};
}

}  // namespace

Shape scores_shape(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                   const AttentionMask& mask) {
    const Shape of_q = shape_of_heads(q, n_heads, mask.queries),
                of_k = shape_of_heads(k, n_heads, mask.keys);
    check_attention(of_q, of_k, shape_of_heads(v, n_heads, mask.keys), {});
    require(k.shape() == v.shape(), "attention: key has shape {}, value {}", k.shape(), v.shape());
    return of_q.with(3, of_k[2]);
}
// [attend heads]
Tensor attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                    const AttentionMask& mask, const AttentionOptions& options,
                    AttendHeadsCache* cache, Tensor* weights) {
    mask.check(scores_shape(q, k, v, n_heads, mask));
    const Real fill = fill_of(options, q.dim(2) / n_heads);
    require(!mask.packed() || fill <= -10'000,
            "attention: fill {} does not separate packed sentences, expected at most -10000", fill);
    require(!mask.packed() || !weights,
            "attention: weights are not available for packed sentences");
    if (cache) *cache = {way(), n_heads, {}};
    return Ways{"attention", plain::attend_heads, fast::attend_heads, cuda::attend_heads}(
        q, k, v, n_heads, mask, options, cache, weights);
}

AttentionGradients attend_heads_backward(const Tensor& dy, const AttendHeadsCache& cache) {
    require(!std::holds_alternative<std::monostate>(cache.kept),
            "attention backward: the cache was not filled by a forward pass");
    const ScopedWay scoped(cache.way);
    return Ways{"attention", plain::attend_heads_backward, fast::attend_heads_backward,
                cuda::attend_heads_backward}(dy, cache);
}
// [plain]
Tensor plain::attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                           const AttentionMask& mask, const AttentionOptions& options,
                           AttendHeadsCache* cache, Tensor* weights) {
    const Tensor q_h = split_heads(q, n_heads);  // [B, H, Lq, d_k]
    const Tensor k_h = split_heads(k, n_heads);  // [B, H, Lk, d_k]
    const Tensor v_h = split_heads(v, n_heads);  // [B, H, Lk, d_k]
    const Mask hidden = mask.dense(scores_shape(q, k, v, n_heads, mask));
    AttentionCache* const own = cache ? &cache->kept.emplace<AttentionCache>() : nullptr;
    return join_heads(attention(q_h, k_h, v_h, hidden, options, own, weights));
}
// [plain: backward]
// forward was:  y = join(attention(split(q), split(k), split(v)))
// hence:        the same steps in reverse; the backward of split is join, that of join is split
AttentionGradients plain::attend_heads_backward(const Tensor& dy, const AttendHeadsCache& cache) {
    const Tensor dy_h = split_heads(dy, cache.n_heads);  // [B, H, Lq, d_k]
    const auto [dq, dk, dv] = attention_backward(dy_h, std::get<AttentionCache>(cache.kept));
    return {join_heads(dq), join_heads(dk), join_heads(dv)};
}

}  // namespace abh
