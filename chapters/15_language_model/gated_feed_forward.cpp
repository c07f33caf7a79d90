#include "chapters/15_language_model/gated_feed_forward.hpp"

#include "chapters/06_feed_forward/swish.hpp"
#include "lib/eigen.hpp"
#include "lib/part.hpp"

namespace abh {
namespace plain {
decltype(swish_gate) swish_gate;
decltype(swish_gate_backward) swish_gate_backward;
}  // namespace plain
namespace fast {
decltype(swish_gate) swish_gate;
decltype(swish_gate_backward) swish_gate_backward;
}  // namespace fast
// [operation]
Tensor swish_gate(const Tensor& g, const Tensor& u, SwishGateCache* cache) {
    require_shape(u.shape(), g.shape(), "swish gate", "u");
    if (cache) *cache = {way(), g, u};
    return Ways{"swish gate", plain::swish_gate, fast::swish_gate}(g, u, cache);
}

SwishGateGradients swish_gate_backward(const Tensor& da, const SwishGateCache& cache) {
    require_shape(da.shape(), cache.g.shape(), "swish gate backward", "da");
    const ScopedWay scoped(cache.way);
    return Ways{"swish gate", plain::swish_gate_backward, fast::swish_gate_backward}(da, cache);
}
// [times]
namespace {

/// a * b, element by element.
Tensor times(const Tensor& a, const Tensor& b) {
    Tensor y(a.shape());
    vector(y).array() = vector(a).array() * vector(b).array();
    return y;
}

}  // namespace
// [product]
Tensor plain::swish_gate(const Tensor& g, const Tensor& u, SwishGateCache*) {
    return times(swish(g), u);
}
// [product: backward]
// forward was:  a = s * u,  s = swish(g)
// hence:        du = da * s,  ds = da * u,  and through swish to g
SwishGateGradients plain::swish_gate_backward(const Tensor& da, const SwishGateCache& cache) {
    const Tensor du = times(da, swish(cache.g)), ds = times(da, cache.u);
    return {swish_backward(ds, cache.g), du};
}
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
    const Tensor a = swish_gate(g, u, part(cache, &Cache::gated));
    return down.forward(a, part(cache, &Cache::down));
}
// [backward]
// forward was:  g = gate(x),  u = up(x),  a = swish(g) * u,  y = down(a)
// hence:        the same steps from last to first; x was used twice, so its two gradients add
Tensor GatedFeedForward::backward(const Tensor& dy, const Cache& cache) {
    const Tensor da = down.backward(dy, cache.down);
    const auto [dg, du] = swish_gate_backward(da, cache.gated);
    Tensor dx = up.backward(du, cache.up);
    dx += gate.backward(dg, cache.gate);
    return dx;
}

}  // namespace abh
