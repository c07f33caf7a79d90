#include "chapters/14_on_many_machines/tensor_parallel/tensor_parallel.hpp"

#include "chapters/14_on_many_machines/ranks/tree_sum.hpp"
#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
// [cut]
namespace {

/// This rank's share of `count` things: neighbors, equally many for each rank.
Parts share_of(Index count, const char* what, const Ranks& ranks) {
    require(count % ranks.size() == 0, "tensor parallel: {} {} is not divisible by {} ranks", what,
            count, ranks.size());
    return parts_of(ranks.rank(), ranks.size(), count);
}

/// The map to some of the outputs: rows of the weight, elements of the bias.
Linear cut_outputs(const Linear& whole, const Parts& own) {
    Linear cut = whole;
    cut.weight = Parameter(whole.weight.value.rows(own.begin, own.end).clone());
    if (whole.has_bias()) cut.bias = Parameter(whole.bias.value.rows(own.begin, own.end).clone());
    return cut;
}

/// The map from some of the inputs to what they add to all outputs: columns of the weight. Only
/// rank 0 has the bias, so that the sum over ranks contains it once.
Linear cut_inputs(const Linear& whole, const Parts& own, const Ranks& ranks) {
    Tensor columns({whole.d_out(), own.count()});
    matrix(columns) = matrix(whole.weight.value).middleCols(own.begin, own.count());
    Linear cut = whole;
    cut.weight = Parameter(columns);
    const bool with_bias = whole.has_bias() && ranks.first();
    cut.bias = with_bias ? Parameter(whole.bias.value.clone()) : Parameter();
    return cut;
}

}  // namespace
// [feed-forward]
FeedForwardShard::FeedForwardShard(const FeedForward& whole, Ranks& ranks)
    : part(whole), ranks_(ranks) {
    const Parts own = share_of(whole.first.d_out(), "d_ff", ranks);
    part.first = cut_outputs(whole.first, own);
    part.second = cut_inputs(whole.second, own, ranks);
}

Tensor FeedForwardShard::forward(const Tensor& x, Cache* cache) const {
    Tensor y = part.forward(x, cache);  // [B, L, d_model], this rank's summand
    ranks_.all_reduce(y);               // g
    return y;
}
// [feed-forward: backward]
// forward was:  y = sum over ranks of part(x)
// hence:        each part gets dy itself, and dx = sum over ranks of the parts' dx
Tensor FeedForwardShard::backward(const Tensor& dy, const Cache& cache) {
    Tensor dx = part.backward(dy, cache);  // [B, L, d_model], this rank's summand
    ranks_.all_reduce(dx);                 // f
    return dx;
}
// [self-attention: construct]
namespace {

/// This rank's columns of the joined heads: those of some whole heads.
Parts columns_of(const MultiHeadAttention& whole, const Ranks& ranks) {
    const MultiHeadOptions& o = whole.options();
    require(!o.shared_head_projections,
            "tensor parallel: {} heads share one projection, which cannot be cut", o.n_heads);
    const Parts heads = share_of(o.n_heads, "n_heads", ranks);
    const Index d_k = o.d_model / o.n_heads;
    return {heads.begin * d_k, heads.end * d_k};
}

}  // namespace

SelfAttentionShard::SelfAttentionShard(const MultiHeadAttention& whole, Ranks& ranks)
    : n_heads_(whole.options().n_heads / ranks.size()),
      options_(whole.options().attention),
      ranks_(ranks),
      w_q(cut_outputs(whole.w_q, columns_of(whole, ranks))),
      w_k(cut_outputs(whole.w_k, columns_of(whole, ranks))),
      w_v(cut_outputs(whole.w_v, columns_of(whole, ranks))),
      w_o(cut_inputs(whole.w_o, columns_of(whole, ranks), ranks)) {}

void SelfAttentionShard::collect(Parameters& list, const std::string& name) {
    w_q.collect(list, join_name(name, "w_q"));
    w_k.collect(list, join_name(name, "w_k"));
    w_v.collect(list, join_name(name, "w_v"));
    w_o.collect(list, join_name(name, "w_o"));
}
// [self-attention]
Tensor SelfAttentionShard::forward(const Tensor& x, const AttentionMask& mask, Cache* cache) const {
    const Tensor q = w_q.forward(x, part(cache, &Cache::q));  // [B, L, d_model / ranks]
    const Tensor k = w_k.forward(x, part(cache, &Cache::k));
    const Tensor v = w_v.forward(x, part(cache, &Cache::v));
    const Tensor context =
        attend_heads(q, k, v, n_heads_, mask, options_, part(cache, &Cache::attention));
    Tensor y = w_o.forward(context, part(cache, &Cache::out));  // [B, L, d_model], a summand
    ranks_.all_reduce(y);                                       // g
    return y;
}
// [self-attention: backward]
// forward was:  y = sum over ranks of attend_heads(x W_Q^T, x W_K^T, x W_V^T) W_O^T
// hence:        the passes of chapter 5 on this rank's heads, and dx = sum over ranks
Tensor SelfAttentionShard::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dcontext = w_o.backward(dy, cache.out);  // [B, L, d_model / ranks]
    const auto [dq, dk, dv] = attend_heads_backward(dcontext, cache.attention);
    Tensor dx = w_q.backward(dq, cache.q);  // [B, L, d_model], a summand
    dx += w_k.backward(dk, cache.k);
    dx += w_v.backward(dv, cache.v);
    ranks_.all_reduce(dx);  // f, once for all three
    return dx;
}

}  // namespace abh
