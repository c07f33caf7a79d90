#include "chapters/15_language_model/block.hpp"

#include "lib/part.hpp"

namespace abh {
// [construct]
Block::Norm make_norm(const BlockOptions& o) {
    if (o.rms_norm) return RmsNorm(o.attention.d_model, o.eps);
    return LayerNorm(o.attention.d_model, {.eps = o.eps});
}

namespace {

Block::Network make_network(const BlockOptions& o, Random& random) {
    if (o.gated) return GatedFeedForward(o.attention.d_model, o.d_ff, random);
    return FeedForward(o.attention.d_model, o.d_ff, true, random);
}

}  // namespace

Block::Block(const BlockOptions& o, Random& random)
    : norm1(make_norm(o)),
      attention(o.attention, random),
      norm2(make_norm(o)),
      network(make_network(o, random)),
      dropout1_(o.dropout, random),
      dropout2_(o.dropout, random) {}

void Block::collect(Parameters& list, const std::string& name) {
    norm1.collect(list, join_name(name, "input_layernorm"));
    attention.collect(list, join_name(name, "self_attn"));
    norm2.collect(list, join_name(name, "post_attention_layernorm"));
    network.collect(list, join_name(name, "mlp"));
}
// [forward]
Tensor Block::forward(const Tensor& x, Cache* cache, const Packing& packing,
                      Tensor* weights) const {
    const Tensor h1 = norm1.forward(x, part(cache, &Cache::norm1));
    const Tensor a = attention.forward(h1, part(cache, &Cache::attention), packing, weights);
    const Tensor x1 = x + dropout1_.forward(a, part(cache, &Cache::dropout1));
    const Tensor h2 = norm2.forward(x1, part(cache, &Cache::norm2));
    const Tensor f = network.forward(h2, part(cache, &Cache::network));
    return x1 + dropout2_.forward(f, part(cache, &Cache::dropout2));
}
// [next]
Tensor Block::next(const Tensor& x, KeyValues& kv, Index length) const {
    const Tensor x1 = x + attention.next(norm1.forward(x), kv, length);
    return x1 + network.forward(norm2.forward(x1));
}
// [backward]
// forward was:  x1 = x + dropout1(attention(norm1(x))),  y = x1 + dropout2(network(norm2(x1)))
// hence:        along each plus, dy goes both ways: straight on, and back through the branch
Tensor Block::backward(const Tensor& dy, const Cache& cache) {
    const Tensor dh2 = network.backward(dropout2_.backward(dy, cache.dropout2), cache.network);
    Tensor dx1 = norm2.backward(dh2, cache.norm2);
    dx1 += dy;
    const Tensor dh1 = attention.backward(dropout1_.backward(dx1, cache.dropout1), cache.attention);
    Tensor dx = norm1.backward(dh1, cache.norm1);
    dx += dx1;
    return dx;
}

}  // namespace abh
