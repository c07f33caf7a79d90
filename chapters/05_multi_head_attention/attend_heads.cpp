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

/// The shape of `x`, not packed, after `split_heads`.
Shape shape_of_heads(const Tensor& x, Index n_heads, const Packing& p) {
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % n_heads == 0,
            "attention: x has shape {}, its last axis is not divisible by {} heads", x.shape(),
            n_heads);
    const Index d_k = x.dim(2) / n_heads;
    if (p.empty()) return {x.dim(0), n_heads, x.dim(1), d_k};
    require(x.dim(0) == 1 && x.dim(1) == p.rows(), "attention: x has shape {}, packed are {} rows",
            x.shape(), p.rows());
    return {p.sentences(), n_heads, p.length, d_k};
}

}  // namespace

Shape scores_shape(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                   const Packed& packed) {
    const Shape of_q = shape_of_heads(q, n_heads, packed.queries),
                of_k = shape_of_heads(k, n_heads, packed.keys);
    check_attention(of_q, of_k, shape_of_heads(v, n_heads, packed.keys), {});
    require(k.shape() == v.shape(), "attention: key has shape {}, value {}", k.shape(), v.shape());
    return of_q.with(3, of_k[2]);
}
// [attend heads]
Tensor attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                    const AttentionMask& mask, const AttentionOptions& options,
                    AttendHeadsCache* cache, Tensor* weights) {
    mask.check(scores_shape(q, k, v, n_heads, mask.packed));
    require(!weights || mask.packed.empty(), "attention: no weights of packed sentences");
    if (cache) *cache = {way(), n_heads, mask.packed, {}};
    static constexpr Ways ways{"attention", plain::attend_heads, fast::attend_heads,
                               cuda::attend_heads};
    return ways(q, k, v, n_heads, mask, options, cache, weights);
}

AttentionGradients attend_heads_backward(const Tensor& dy, const AttendHeadsCache& cache) {
    require(!std::holds_alternative<std::monostate>(cache.kept),
            "attention backward: the cache was not filled by a forward pass");
    const Following following(cache.way);
    static constexpr Ways ways{"attention", plain::attend_heads_backward,
                               fast::attend_heads_backward, cuda::attend_heads_backward};
    return ways(dy, cache);
}
// [plain]
namespace {

/// All heads of padded sentences.
Tensor attend_padded(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                     const AttentionMask& mask, const AttentionOptions& options,
                     AttentionCache* cache, Tensor* weights) {
    const Tensor q_h = split_heads(q, n_heads);  // [B, H, Lq, d_k]
    const Tensor k_h = split_heads(k, n_heads);  // [B, H, Lk, d_k]
    const Tensor v_h = split_heads(v, n_heads);  // [B, H, Lk, d_k]
    const Mask hidden = mask.dense({q_h.dim(0), n_heads, q_h.dim(2), k_h.dim(2)});
    return join_heads(attention(q_h, k_h, v_h, hidden, options, cache, weights));
}

// [plain: backward]
// forward was:  y = join(attention(split(q), split(k), split(v)))
// hence:        the same from last to first; the backward of split is join, and that of join split
AttentionGradients attend_padded_backward(const Tensor& dy, Index n_heads,
                                          const AttentionCache& cache) {
    const auto [dq, dk, dv] = attention_backward(split_heads(dy, n_heads), cache);
    return {join_heads(dq), join_heads(dk), join_heads(dv)};
}

}  // namespace
// [plain: packed]
/// Sentences that are packed are taken one by one.
Tensor plain::attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                           const AttentionMask& mask, const AttentionOptions& options,
                           AttendHeadsCache* cache, Tensor* weights) {
    const auto& [queries, keys] = mask.packed;
    const auto sentences = static_cast<std::size_t>(mask.packed.empty() ? 1 : queries.sentences());
    std::vector<AttentionCache>* caches = nullptr;
    if (cache) caches = &cache->kept.emplace<std::vector<AttentionCache>>(sentences);
    if (mask.packed.empty())
        return attend_padded(q, k, v, n_heads, mask, options, part(caches, 0), weights);
    Tensor y(q.shape());
    for (std::size_t i = 0; i < sentences; ++i) {
        const Index b = static_cast<Index>(i);
        const AttentionMask own =
            mask.of_sentence(b, {1, n_heads, queries.count(b), keys.count(b)});
        Tensor y_b = sentence(y, queries, b);
        vector(y_b) = vector(attend_padded(sentence(q, queries, b), sentence(k, keys, b),
                                           sentence(v, keys, b), n_heads, own, options,
                                           part(caches, i), nullptr));
    }
    return y;
}

AttentionGradients plain::attend_heads_backward(const Tensor& dy, const AttendHeadsCache& cache) {
    const auto& caches = std::get<std::vector<AttentionCache>>(cache.kept);
    const auto& [queries, keys] = cache.packed;
    if (queries.empty()) return attend_padded_backward(dy, cache.n_heads, caches[0]);
    const Shape shape = dy.shape().with(1, keys.rows());
    AttentionGradients d{Tensor(dy.shape()), Tensor(shape), Tensor(shape)};
    for (Index b = 0; b < queries.sentences(); ++b) {
        const AttentionGradients own = attend_padded_backward(
            sentence(dy, queries, b), cache.n_heads, caches[static_cast<std::size_t>(b)]);
        Tensor dq = sentence(d.dq, queries, b), dk = sentence(d.dk, keys, b),
               dv = sentence(d.dv, keys, b);
        vector(dq) = vector(own.dq);
        vector(dk) = vector(own.dk);
        vector(dv) = vector(own.dv);
    }
    return d;
}

}  // namespace abh
