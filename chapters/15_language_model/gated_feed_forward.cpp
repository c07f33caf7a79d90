#include "chapters/15_language_model/gated_feed_forward.hpp"

#include "chapters/06_feed_forward/swish.hpp"
#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
// [product]
namespace {

/// a * b, element by element.
Tensor times(const Tensor& a, const Tensor& b) {
    Tensor y(a.shape());
    vector(y).array() = vector(a).array() * vector(b).array();
    return y;
}

}  // namespace
// [construct]
GatedFeedForward::GatedFeedForward(Index d_model, Index d_ff, Random& random)
    : gate(d_model, d_ff, false, random),
      up(d_model, d_ff, false, random),
      down(d_ff, d_model, false, random) {}

void GatedFeedForward::collect(Parameters& list, const std::string& name) {
    gate.collect(list, join_name(name, "gate_proj"));
    up.collect(list, join_name(name, "up_proj"));
    down.collect(list, join_name(name, "down_proj"));
}
// [forward]
Tensor GatedFeedForward::forward(const Tensor& x, Cache* cache) const {
    const Tensor g = gate.forward(x, part(cache, &Cache::gate));  // [B, L, d_ff]
    const Tensor u = up.forward(x, part(cache, &Cache::up));      // [B, L, d_ff]
    const Tensor s = swish(g);
    if (cache) cache->g = g, cache->u = u, cache->s = s;
    return down.forward(times(s, u), part(cache, &Cache::down));
}
// [backward]
// forward was:  g = gate(x),  u = up(x),  s = swish(g),  y = down(s * u)
// hence:        with a = s * u:  du = da * s,  ds = da * u;  x was used twice, so its two gradients
//               add
Tensor GatedFeedForward::backward(const Tensor& dy, const Cache& cache) {
    const Tensor da = down.backward(dy, cache.down);
    const Tensor du = times(da, cache.s), ds = times(da, cache.u);
    return up.backward(du, cache.up) + linear_swish_backward(ds, cache.g, gate, cache.gate);
}

}  // namespace abh
