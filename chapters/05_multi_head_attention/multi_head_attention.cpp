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
/// The shape in which `x` goes through a map: as it is, or, where all heads share one, as slices.
Tensor MultiHeadAttention::as_mapped(const Tensor& x) const {
    require(x.rank() == 3 && x.dim(2) == options_.d_model,
            "multi-head attention: input has shape {}, expected [B, L, {}]", x.shape(),
            options_.d_model);
    if (!options_.shared_head_maps) return x;
    const Index h = options_.n_heads;
    return x.reshape({x.dim(0), x.dim(1), h, x.dim(2) / h});  // [B, L, H, d_k]
}

Tensor MultiHeadAttention::map(const Linear& linear, const Tensor& x, Linear::Cache* cache) const {
    return linear.forward(as_mapped(x), cache).reshape(x.shape());
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
// [forward: maps]
std::array<Tensor, 3> MultiHeadAttention::map_all(const Tensor& query, const Tensor& key,
                                                  const Tensor& value, Cache* cache) const {
    const std::array maps{&w_q, &w_k, &w_v};
    std::array<Linear::Cache*, 3> caches{};
    if (cache) caches = {&cache->q, &cache->k, &cache->v};
    std::array<Tensor, 3> y;
    if (!key.is(value)) {
        return {map(w_q, query, caches[0]), map(w_k, key, caches[1]), map(w_v, value, caches[2])};
    }
    const std::size_t first = query.is(key) ? 0 : 1;
    if (first == 1) y[0] = map(w_q, query, caches[0]);
    Linear::forward_together(std::span(maps).subspan(first), as_mapped(key),
                             std::span(caches).subspan(first), std::span(y).subspan(first));
    for (Tensor& t : y) t = t.reshape({t.dim(0), t.dim(1), options_.d_model});
    return y;
}
// [forward]
Tensor MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Mask& mask, Cache* cache, Tensor* weights,
                                   const Packed& packed) const {
    require(!weights || packed.empty(), "multi-head attention: no weights of packed sentences");
    if (!weights) {
        if (cache) cache->attention = {};                          // of a pass before this one
        const auto [q, k, v] = map_all(query, key, value, cache);  // [B, L, d_model]
        const Mask for_heads = mask.rank() == 3 ? over_heads(mask) : mask;
        const Tensor context =
            attention_by_blocks(q, k, v, options_.n_heads, for_heads, options_.attention,
                                cache ? &cache->by_blocks : nullptr, packed);
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
    const AttentionGradients d = before_maps(dy, cache);
    return {map_backward(w_q, d.dq, cache.q), map_backward(w_k, d.dk, cache.k),
            map_backward(w_v, d.dv, cache.v)};
}

/// Back through the output map and attention. @return `dq`, `dk`, `dv`, `[B, L, d_model]`
AttentionGradients MultiHeadAttention::before_maps(const Tensor& dy, const Cache& cache) {
    const Tensor dcontext = w_o.backward(dy, cache.out);
    if (cache.attention.weights.empty())
        return attention_by_blocks_backward(dcontext, cache.by_blocks);
    const AttentionGradients d =
        attention_backward(split_heads(dcontext, options_.n_heads), cache.attention);
    return {join_heads(d.dq), join_heads(d.dk), join_heads(d.dv)};
}
// [maps: backward]
// forward was:  q = x W;  shared: each slice of x times W
// hence:        dx = dq W^T;  shared: the same with each slice as a row, so that the linear map's
//               sum over rows adds up the heads' shares of dW
Tensor MultiHeadAttention::map_backward(Linear& linear, const Tensor& dy,
                                        const Linear::Cache& cache) const {
    return linear.backward(as_mapped(dy), cache).reshape(dy.shape());
}
// [one input: backward]
// forward was:  q = x W_Q,  k = x W_K,  v = x W_V
// hence:        dx = dq W_Q^T + dk W_K^T + dv W_V^T, one product that adds to the other
Tensor MultiHeadAttention::self_backward(const Tensor& dy, const Cache& cache) {
    const AttentionGradients d = before_maps(dy, cache);
    return Linear::backward_together(
               std::array{&w_q, &w_k, &w_v},
               std::array{as_mapped(d.dq), as_mapped(d.dk), as_mapped(d.dv)},
               std::array<const Linear::Cache*, 3>{&cache.q, &cache.k, &cache.v})
        .reshape(dy.shape());
}

MultiHeadAttention::CrossGradients MultiHeadAttention::cross_backward(const Tensor& dy,
                                                                      const Cache& cache) {
    const AttentionGradients d = before_maps(dy, cache);
    return {map_backward(w_q, d.dq, cache.q),
            Linear::backward_together(std::array{&w_k, &w_v},
                                      std::array{as_mapped(d.dk), as_mapped(d.dv)},
                                      std::array<const Linear::Cache*, 2>{&cache.k, &cache.v})
                .reshape(d.dk.shape())};
}

}  // namespace abh
