#include "chapters/15_language_model/grouped_attention.hpp"

#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(share_heads) share_heads;
decltype(share_heads_backward) share_heads_backward;
}  // namespace plain
// [operation]
namespace {

void check(const Shape& shape, Index heads, Index n_groups, Index n_heads) {
    require(shape.rank() == 3 && n_groups >= 1 && n_heads % n_groups == 0 && shape[2] % heads == 0,
            "grouped attention: shape {} for {} heads in {} groups", shape, n_heads, n_groups);
}

}  // namespace

Tensor share_heads(const Tensor& x, Index n_groups, Index n_heads) {
    check(x.shape(), n_groups, n_groups, n_heads);
    if (n_groups == n_heads) return x;
    return Ways{"share heads", plain::share_heads}(x, n_groups, n_heads);
}

Tensor share_heads_backward(const Tensor& dy, Index n_groups, Index n_heads) {
    check(dy.shape(), n_heads, n_groups, n_heads);
    if (n_groups == n_heads) return dy;
    return Ways{"share heads", plain::share_heads_backward}(dy, n_groups, n_heads);
}
// [share]
Tensor plain::share_heads(const Tensor& x, Index n_groups, Index n_heads) {
    const Index d = x.dim(2) / n_groups;
    Tensor y(x.shape().with(2, n_heads * d));
    for (Index h = 0; h < n_heads; ++h)
        matrix(y).middleCols(h * d, d) = matrix(x).middleCols(h * n_groups / n_heads * d, d);
    return y;
}
// [share: backward]
// forward was:  each query head gets a copy of its group's head
// hence:        that head gets the sum of what its copies get
Tensor plain::share_heads_backward(const Tensor& dy, Index n_groups, Index n_heads) {
    const Index d = dy.dim(2) / n_heads;
    Tensor dx = Tensor::zeros(dy.shape().with(2, n_groups * d));
    for (Index h = 0; h < n_heads; ++h)
        matrix(dx).middleCols(h * n_groups / n_heads * d, d) += matrix(dy).middleCols(h * d, d);
    return dx;
}
// [construct]
namespace {

GroupedAttentionOptions checked(const GroupedAttentionOptions& o) {
    require(o.n_kv_heads >= 1 && o.n_heads >= 1 && o.n_heads % o.n_kv_heads == 0 &&
                o.d_model % o.n_heads == 0,
            "grouped attention: width {} with {} query heads in {} groups, expected that the "
            "groups divide the heads and these the width",
            o.d_model, o.n_heads, o.n_kv_heads);
    require(!o.rotary || o.d_model / o.n_heads % 2 == 0,
            "grouped attention: heads of width {}, expected an even number, because pairs turn",
            o.d_model / o.n_heads);
    return o;
}

Index kv_width(const GroupedAttentionOptions& o) {
    return o.d_model / o.n_heads * o.n_kv_heads;
}

}  // namespace

GroupedAttention::GroupedAttention(const GroupedAttentionOptions& options, Random& random)
    : options_(checked(options)),
      w_q(options.d_model, options.d_model, false, random),
      w_k(options.d_model, kv_width(options), false, random),
      w_v(options.d_model, kv_width(options), false, random),
      w_o(options.d_model, options.d_model, false, random) {}

void GroupedAttention::collect(Parameters& list, const std::string& name) {
    w_q.collect(list, join_name(name, "q_proj"));
    w_k.collect(list, join_name(name, "k_proj"));
    w_v.collect(list, join_name(name, "v_proj"));
    w_o.collect(list, join_name(name, "o_proj"));
}
// [forward]
Tensor GroupedAttention::forward(const Tensor& x, Cache* cache, const Packing& packing,
                                 Tensor* weights) const {
    const auto& [d_model, n_heads, n_kv_heads, rotary] = options_;
    Tensor q = w_q.forward(x, part(cache, &Cache::q));        // [B, L, H * d_k]
    Tensor k = w_k.forward(x, part(cache, &Cache::k));        // [B, L, G * d_k]
    const Tensor v = w_v.forward(x, part(cache, &Cache::v));  // [B, L, G * d_k]
    if (rotary) {
        q = rotate(q, n_heads, *rotary, 0, packing);
        k = rotate(k, n_kv_heads, *rotary, 0, packing);
    }
    AttentionMask mask = hide_future();
    mask.queries = mask.keys = packing;
    if (cache) cache->packing = packing;
    const Tensor context =
        attend_heads(q, share_heads(k, n_kv_heads, n_heads), share_heads(v, n_kv_heads, n_heads),
                     n_heads, mask, {}, part(cache, &Cache::attention), weights);
    return w_o.forward(context, part(cache, &Cache::out));  // [B, L, d_model]
}
// [next]
KeyValues GroupedAttention::room(Index rows) const {
    const Tensor none({options_.n_kv_heads, 1, rows, options_.d_model / options_.n_heads});
    return {none.clone(), none.clone()};
}

Tensor GroupedAttention::next(const Tensor& x, KeyValues& kv, Index length) const {
    const auto& [d_model, n_heads, n_kv_heads, rotary] = options_;
    const Index n = x.dim(1), d_k = d_model / n_heads;
    require(length + n <= kv.k.dim(2), "grouped attention: no room after {} words", length);
    require(n == 1 || length == 0, "grouped attention: {} rows after {}, expected one", n, length);
    Tensor q = w_q.forward(x), k = w_k.forward(x);
    const Tensor v = w_v.forward(x);
    if (rotary) {
        q = rotate(q, n_heads, *rotary, length);
        k = rotate(k, n_kv_heads, *rotary, length);
    }
    const auto heads = [&](const Tensor& rows, Index t, Index count) {
        return rows.reshape({n, count, 1, d_k}).rows(t, t + 1).reshape({count, 1, 1, d_k});
    };
    for (Index t = 0; t < n; ++t)
        append(kv, length + t, heads(k, t, n_kv_heads), heads(v, t, n_kv_heads));
    if (n > 1)
        return w_o.forward(attend_heads(q, share_heads(k, n_kv_heads, n_heads),
                                        share_heads(v, n_kv_heads, n_heads), n_heads, hide_future(),
                                        {}, nullptr, nullptr));
    Ids groups({n_heads});  // whose keys and values each query head reads, where they lie
    for (Index h = 0; h < n_heads; ++h)
        groups(h) = static_cast<std::int32_t>(h * n_kv_heads / n_heads);
    const Mask none = Mask::zeros({n_kv_heads, 1, kv.k.dim(2), 1});
    const Tensor context = attend_cached(heads(q, 0, n_heads), kv, length + 1, none, groups, {});
    return w_o.forward(context.reshape(x.shape()));
}
// [backward]
// forward was:  q = rotate(x W_Q^T),  k = rotate(x W_K^T),  v = x W_V^T,
//               y = attend_heads(q, share(k), share(v)) W_O^T
// hence:        the same steps from last to first; x was used three times, so its gradients add
Tensor GroupedAttention::backward(const Tensor& dy, const Cache& cache) {
    const auto& [d_model, n_heads, n_kv_heads, rotary] = options_;
    const auto d = attend_heads_backward(w_o.backward(dy, cache.out), cache.attention);
    Tensor dq = d.dq, dk = share_heads_backward(d.dk, n_kv_heads, n_heads);
    const Tensor dv = share_heads_backward(d.dv, n_kv_heads, n_heads);
    if (rotary) {
        dq = rotate_backward(dq, n_heads, *rotary, 0, cache.packing);
        dk = rotate_backward(dk, n_kv_heads, *rotary, 0, cache.packing);
    }
    Tensor dx = w_q.backward(dq, cache.q);
    dx += w_k.backward(dk, cache.k);
    dx += w_v.backward(dv, cache.v);
    return dx;
}

}  // namespace abh
