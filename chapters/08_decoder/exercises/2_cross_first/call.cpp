#include "judge/answer/serve.hpp"
#include "model.hpp"

namespace abh::mine {
Tensor cross_first_forward(const DecoderLayer& layer, const Tensor& x, const Tensor& memory,
                           const AttentionMask& self_mask, const AttentionMask& cross_mask,
                           DecoderLayer::Cache* cache);
DecoderLayer::Gradients cross_first_backward(DecoderLayer& layer, const Tensor& dy,
                                             const DecoderLayer::Cache& cache);
}  // namespace abh::mine

using namespace abh;
using namespace abh::judge;

namespace {

Tensor forward(const Tensor& x, const Tensor& memory, const Ids& src, const Ids& tgt, bool pre,
               Index seed) {
    return mine::cross_first_forward(layer_of(x.dim(2), pre, seed), x, memory,
                                     hide_pads(tgt) | hide_future(), hide_pads(src), nullptr);
}

/// dx, dmemory, and the gradients of all parameters.
std::vector<Tensor> backward(const Tensor& x, const Tensor& memory, const Tensor& dy,
                             const Ids& src, const Ids& tgt, bool pre, Index seed) {
    DecoderLayer layer = layer_of(x.dim(2), pre, seed);
    DecoderLayer::Cache cache;
    mine::cross_first_forward(layer, x, memory, hide_pads(tgt) | hide_future(), hide_pads(src),
                              &cache);
    const auto [dx, dmemory] = mine::cross_first_backward(layer, dy, cache);
    std::vector<Tensor> results{dx, dmemory};
    for (const NamedParameter& p : parameters_of(layer)) results.push_back(p.parameter->grad());
    return results;
}

Tensor dx(const Tensor& x, const Tensor& memory, const Tensor& dy, const Ids& src, const Ids& tgt,
          bool pre, Index seed) {
    return backward(x, memory, dy, src, tgt, pre, seed)[0];
}

Tensor dmemory(const Tensor& x, const Tensor& memory, const Tensor& dy, const Ids& src,
               const Ids& tgt, bool pre, Index seed) {
    return backward(x, memory, dy, src, tgt, pre, seed)[1];
}

std::vector<Tensor> dparameters(const Tensor& x, const Tensor& memory, const Tensor& dy,
                                const Ids& src, const Ids& tgt, bool pre, Index seed) {
    const std::vector<Tensor> all = backward(x, memory, dy, src, tgt, pre, seed);
    return {all.begin() + 2, all.end()};
}

}  // namespace

int main() {
    return judge::serve({{"forward", judge::function(forward)},
                         {"dx", judge::function(dx)},
                         {"dmemory", judge::function(dmemory)},
                         {"dparameters", judge::function(dparameters)}});
}
