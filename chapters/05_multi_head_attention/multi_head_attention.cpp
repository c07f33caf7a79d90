#include "chapters/05_multi_head_attention/multi_head_attention.hpp"

#include <algorithm>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/multi_head_attention.cuh"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [split and join]
Tensor split_heads(const Tensor& x, Index n_heads) {
    const Timed timed("heads");
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % n_heads == 0,
            "split_heads: x has shape {}, its last axis is not divisible by {} heads", x.shape(),
            n_heads);
    const Index batch = x.dim(0), length = x.dim(1), d_k = x.dim(2) / n_heads;
    Tensor y({batch, n_heads, length, d_k});
    if (on_cuda()) return cuda::split_heads(y, x), y;
    parallel_for(batch, [&](Index b) {
        for (Index h = 0; h < n_heads; ++h)
            for (Index l = 0; l < length; ++l)
                std::copy_n(&x(b, l, h * d_k), d_k, &y(b, h, l, Index{0}));
    });
    return y;
}

Tensor join_heads(const Tensor& x) {
    const Timed timed("heads");
    require(x.rank() == 4, "join_heads: x has shape {}, expected [B, H, L, d_k]", x.shape());
    const Index batch = x.dim(0), n_heads = x.dim(1), length = x.dim(2), d_k = x.dim(3);
    Tensor y({batch, length, n_heads * d_k});
    if (on_cuda()) return cuda::join_heads(y, x), y;
    parallel_for(batch, [&](Index b) {
        for (Index h = 0; h < n_heads; ++h)
            for (Index l = 0; l < length; ++l)
                std::copy_n(&x(b, h, l, Index{0}), d_k, &y(b, l, h * d_k));
    });
    return y;
}
// [construct]
namespace {

MultiHeadOptions checked(const MultiHeadOptions& o) {
    require(o.n_heads >= 1 && o.d_model >= 1 && o.d_model % o.n_heads == 0,
            "multi-head attention: d_model {} is not divisible by {} heads", o.d_model, o.n_heads);
    return o;
}

/// Width of the maps of queries, keys and values.
Index map_width(const MultiHeadOptions& o) {
    return o.shared_head_maps ? o.d_model / o.n_heads : o.d_model;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadOptions& options, Random& random)
    : options_(checked(options)),
      w_q(map_width(options), map_width(options), options.bias_qkv, random),
      w_k(map_width(options), map_width(options), options.bias_qkv, random),
      w_v(map_width(options), map_width(options), options.bias_qkv, random),
      w_o(options.d_model, options.d_model, options.bias_out, random) {}

void MultiHeadAttention::collect(Parameters& list, const std::string& name) {
    w_q.collect(list, join_name(name, "w_q"));
    w_k.collect(list, join_name(name, "w_k"));
    w_v.collect(list, join_name(name, "w_v"));
    w_o.collect(list, join_name(name, "w_o"));
}
// [pieces]
Tensor MultiHeadAttention::map(const Linear& linear, const Tensor& x, Linear::Cache* cache) const {
    require(x.rank() == 3 && x.dim(2) == options_.d_model,
            "multi-head attention: input has shape {}, expected [B, L, {}]", x.shape(),
            options_.d_model);
    if (!options_.shared_head_maps) return linear.forward(x, cache);
    const Index h = options_.n_heads;
    const Tensor slices = x.reshape({x.dim(0), x.dim(1), h, x.dim(2) / h});  // [B, L, H, d_k]
    return linear.forward(slices, cache).reshape(x.shape());
}

Tensor MultiHeadAttention::heads(const Linear& linear, const Tensor& x,
                                 Linear::Cache* cache) const {
    return split_heads(map(linear, x, cache), options_.n_heads);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Mask& mask, Cache* cache, Tensor* weights) const {
    const Mask for_heads = mask.rank() == 3 ? over_heads(mask) : mask;  // [B, 1, Lq, Lk]
    const Tensor context = attention(q, k, v, for_heads, options_.attention,
                                     cache ? &cache->attention : nullptr, weights);
    return w_o.forward(join_heads(context), cache ? &cache->out : nullptr);
}
// [forward]
Tensor MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Mask& mask, Cache* cache, Tensor* weights) const {
    if (!weights) {
        if (cache) cache->attention = {};  // of a pass before this one
        const Tensor q = map(w_q, query, cache ? &cache->q : nullptr);
        const Tensor k = map(w_k, key, cache ? &cache->k : nullptr);
        const Tensor v = map(w_v, value, cache ? &cache->v : nullptr);
        const Mask for_heads = mask.rank() == 3 ? over_heads(mask) : mask;
        const Tensor context =
            attention_by_blocks(q, k, v, options_.n_heads, for_heads, options_.attention,
                                cache ? &cache->by_blocks : nullptr);
        return w_o.forward(context, cache ? &cache->out : nullptr);
    }
    const Tensor q = heads(w_q, query, cache ? &cache->q : nullptr);  // [B, H, Lq, d_k]
    const Tensor k = heads(w_k, key, cache ? &cache->k : nullptr);    // [B, H, Lk, d_k]
    const Tensor v = heads(w_v, value, cache ? &cache->v : nullptr);  // [B, H, Lk, d_k]
    return attend(q, k, v, mask, cache, weights);                     // [B, Lq, d_model]
}
// [backward]
// forward was:  q = split(query W_Q), k = split(key W_K), v = split(value W_V),
//               y = join(attention(q, k, v)) W_O
// hence:        dcontext = split(dy W_O^T);  dq, dk, dv = attention backward of dcontext;
//               dquery = join(dq) W_Q^T, and so for key and value; the maps add to their gradients
MultiHeadAttention::Gradients MultiHeadAttention::backward(const Tensor& dy, const Cache& cache) {
    if (cache.attention.weights.empty()) {
        const AttentionGradients d =
            attention_by_blocks_backward(w_o.backward(dy, cache.out), cache.by_blocks);
        return {map_backward(w_q, d.dq, cache.q), map_backward(w_k, d.dk, cache.k),
                map_backward(w_v, d.dv, cache.v)};
    }
    const Tensor dcontext = split_heads(w_o.backward(dy, cache.out), options_.n_heads);
    const AttentionGradients d = attention_backward(dcontext, cache.attention);
    return {heads_backward(w_q, d.dq, cache.q), heads_backward(w_k, d.dk, cache.k),
            heads_backward(w_v, d.dv, cache.v)};
}
// [heads: backward]
// forward was:  heads = split(x W);  shared: heads = split of (each slice of x) W
// hence:        dx = join(dheads) W^T;  shared: the same with each slice as a row, so that the
//               linear map's sum over rows adds up the heads' shares of dW
Tensor MultiHeadAttention::map_backward(Linear& linear, const Tensor& dy,
                                        const Linear::Cache& cache) const {
    return linear.backward(dy.reshape(cache.x.shape()), cache).reshape(dy.shape());
}

Tensor MultiHeadAttention::heads_backward(Linear& linear, const Tensor& dheads,
                                          const Linear::Cache& cache) const {
    return map_backward(linear, join_heads(dheads), cache);
}

}  // namespace abh
