#include "judge/answer/serve.hpp"
#include "model.hpp"

namespace abh::mine {
Tensor parallel_forward(const EncoderLayer& layer, const Tensor& x, const AttentionMask& mask,
                        EncoderLayer::Cache* cache);
Tensor parallel_backward(EncoderLayer& layer, const Tensor& dy, const EncoderLayer::Cache& cache);
}  // namespace abh::mine

using namespace abh;
using namespace abh::judge;

namespace {

Tensor forward(const Tensor& x, const Ids& words, Index n_heads, Index d_ff, double size,
               Index seed) {
    const EncoderLayer layer = layer_of(x.dim(2), n_heads, d_ff, size, seed);
    return mine::parallel_forward(layer, x, hide_pads(words), nullptr);
}

/// `dx`, then the gradients of attention, feed-forward and norm.
std::vector<Tensor> both(const Tensor& x, const Tensor& dy, const Ids& words, Index n_heads,
                         Index d_ff, double size, Index seed) {
    EncoderLayer layer = layer_of(x.dim(2), n_heads, d_ff, size, seed);
    EncoderLayer::Cache cache;
    mine::parallel_forward(layer, x, hide_pads(words), &cache);
    std::vector<Tensor> results{mine::parallel_backward(layer, dy, cache)};
    for (const Parameters& list :
         {parameters_of(layer.self_attn), parameters_of(layer.ff), parameters_of(layer.norm1.norm)})
        for (const NamedParameter& p : list) results.push_back(p.parameter->grad());
    return results;
}

Tensor dx(const Tensor& x, const Tensor& dy, const Ids& words, Index n_heads, Index d_ff,
          double size, Index seed) {
    return both(x, dy, words, n_heads, d_ff, size, seed).front();
}

std::vector<Tensor> dparameters(const Tensor& x, const Tensor& dy, const Ids& words, Index n_heads,
                                Index d_ff, double size, Index seed) {
    std::vector<Tensor> all = both(x, dy, words, n_heads, d_ff, size, seed);
    return {all.begin() + 1, all.end()};
}

}  // namespace

int main() {
    return judge::serve({{"forward", judge::function(forward)},
                         {"dx", judge::function(dx)},
                         {"dparameters", judge::function(dparameters)}});
}
