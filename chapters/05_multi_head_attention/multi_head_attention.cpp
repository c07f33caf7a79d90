#include "chapters/05_multi_head_attention/multi_head_attention.hpp"

#include "lib/part.hpp"

namespace abh {
// [construct]
namespace {

MultiHeadOptions checked(const MultiHeadOptions& o) {
    require(o.n_heads >= 1 && o.d_model >= 1 && o.d_model % o.n_heads == 0,
            "multi-head attention: d_model {} is not divisible by {} heads", o.d_model, o.n_heads);
    return o;
}

/// Width of the projections of queries, keys and values.
Index width(const MultiHeadOptions& o) {
    return o.shared_head_projections ? o.d_model / o.n_heads : o.d_model;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadOptions& options, Random& random)
    : options_(checked(options)),
      w_q(width(options), width(options), options.bias_qkv, random),
      w_k(width(options), width(options), options.bias_qkv, random),
      w_v(width(options), width(options), options.bias_qkv, random),
      w_o(options.d_model, options.d_model, options.bias_out, random) {}

void MultiHeadAttention::collect(Parameters& list, const std::string& name) {
    w_q.collect(list, join_name(name, "w_q"));
    w_k.collect(list, join_name(name, "w_k"));
    w_v.collect(list, join_name(name, "w_v"));
    w_o.collect(list, join_name(name, "w_o"));
}
// [forward]
Tensor MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const AttentionMask& mask, Cache* cache, Tensor* weights) const {
    const Tensor q = project(w_q, query, part(cache, &Cache::q));  // [B, Lq, d_model]
    const Tensor k = project(w_k, key, part(cache, &Cache::k));    // [B, Lk, d_model]
    const Tensor v = project(w_v, value, part(cache, &Cache::v));  // [B, Lk, d_model]
    const Tensor context = attend_heads(q, k, v, options_.n_heads, mask, options_.attention,
                                        part(cache, &Cache::attention), weights);
    return w_o.forward(context, part(cache, &Cache::out));  // [B, Lq, d_model]
}
// [backward]
// forward was:  q = query W_Q^T,  k = key W_K^T,  v = value W_V^T,
//               y = attend_heads(q, k, v) W_O^T
// hence:        dcontext = dy W_O;  dq, dk, dv = attend_heads backward of dcontext;
//               dquery = dq W_Q, likewise for key and value; each projection adds to its gradients
MultiHeadAttention::Gradients MultiHeadAttention::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dcontext = w_o.backward(dy, cache.out);
    const auto [dq, dk, dv] = attend_heads_backward(dcontext, cache.attention);
    return {project_backward(w_q, dq, cache.q), project_backward(w_k, dk, cache.k),
            project_backward(w_v, dv, cache.v)};
}
// [projections]
/// `x` in the shape in which it is projected: unchanged, or in slices if all heads share a map.
Tensor MultiHeadAttention::slices(const Tensor& x, std::string_view name) const {
    require(x.rank() == 3 && x.dim(2) == options_.d_model,
            "multi-head attention: {} has shape {}, expected [B, L, {}]", name, x.shape(),
            options_.d_model);
    if (!options_.shared_head_projections) return x;
    const Index h = options_.n_heads;
    return x.reshape({x.dim(0), x.dim(1), h, x.dim(2) / h});  // [B, L, H, d_k]
}

Tensor MultiHeadAttention::project(const Linear& projection, const Tensor& x,
                                   Linear::Cache* cache) const {
    return projection.forward(slices(x, "input"), cache).reshape(x.shape());
}

// forward was:  q = x W^T;  shared: each slice of x times W^T
// hence:        dx = dq W;  shared: the same with each slice as a row, so that the linear map's
//               sum over rows adds up the heads' shares of dW
Tensor MultiHeadAttention::project_backward(Linear& projection, const Tensor& dy,
                                            const Linear::Cache& cache) const {
    return projection.backward(slices(dy, "dy"), cache).reshape(dy.shape());
}

}  // namespace abh
