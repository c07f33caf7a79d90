#include "chapters/15_language_model/gated_feed_forward.hpp"

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [swish gate]
namespace {
constexpr Index grain = 1 << 12;  // elements that a thread takes at a time
}

Tensor swish_gate(const Tensor& g, const Tensor& u, SwishGateCache*) {
    Tensor a(g.shape());
    parallel_ranges(g.size(), grain, [&](Index begin, Index end) {
        const auto part = [&](const Tensor& t) {
            return vector(t).segment(begin, end - begin).array();
        };
        vector(a).segment(begin, end - begin).array() = part(g) / (1 + (-part(g)).exp()) * part(u);
    });
    return a;
}
// [swish gate: backward]
SwishGateGradients swish_gate_backward(const Tensor& da, const SwishGateCache& cache) {
    SwishGateGradients d{Tensor(da.shape()), Tensor(da.shape())};
    parallel_ranges(da.size(), grain, [&](Index begin, Index end) {
        Eigen::Array<Real, grain, 1> logistic, swish;  // on the stack, in the first cache
        const Index n = end - begin;
        const auto g = vector(cache.g).segment(begin, n).array();
        const auto u = vector(cache.u).segment(begin, n).array();
        const auto da_ = vector(da).segment(begin, n).array();
        auto s = logistic.head(n), gs = swish.head(n);
        s = (1 + (-g).exp()).inverse();
        gs = g * s;
        vector(d.du).segment(begin, n).array() = da_ * gs;
        vector(d.dg).segment(begin, n).array() = da_ * u * (s + gs * (1 - s));
    });
    return d;
}

}  // namespace abh::fast
