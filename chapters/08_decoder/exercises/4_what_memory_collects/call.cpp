#include <utility>
#include <vector>

#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "chapters/06_feed_forward/layer_norm.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
std::pair<Tensor, Tensor> memory_backward(const Tensor& dy, std::vector<MultiHeadAttention>& layers,
                                          const std::vector<MultiHeadAttention::Cache>& caches,
                                          LayerNorm& norm, const LayerNorm::Cache& norm_cache);
}

using namespace abh;

namespace {

/// dx, the gradient of the encoder's result, and those of gamma and beta.
std::vector<Tensor> backward(const Tensor& x, const Tensor& enc, const Tensor& dy, const Ids& src,
                             const Tensor& gamma, Index n_layers, Index n_heads, Index seed) {
    Random random(static_cast<std::uint64_t>(seed));
    LayerNorm norm(x.dim(2));
    norm.gamma.value = gamma.clone();
    std::vector<MultiHeadAttention> layers;
    for (Index i = 0; i < n_layers; ++i)
        layers.emplace_back(MultiHeadOptions{.d_model = x.dim(2), .n_heads = n_heads}, random);
    LayerNorm::Cache norm_cache;
    std::vector<MultiHeadAttention::Cache> caches(layers.size());
    const Tensor memory = norm.forward(enc, &norm_cache);
    Tensor y = x;
    for (std::size_t i = 0; i < layers.size(); ++i)
        y = y + layers[i].forward(y, memory, memory, hide_pads(src), &caches[i]);
    const auto [dx, denc] = mine::memory_backward(dy, layers, caches, norm, norm_cache);
    return {dx, denc, norm.gamma.grad(), norm.beta.grad()};
}

Tensor dx(const Tensor& x, const Tensor& enc, const Tensor& dy, const Ids& src, const Tensor& gamma,
          Index n_layers, Index n_heads, Index seed) {
    return backward(x, enc, dy, src, gamma, n_layers, n_heads, seed)[0];
}

Tensor denc(const Tensor& x, const Tensor& enc, const Tensor& dy, const Ids& src,
            const Tensor& gamma, Index n_layers, Index n_heads, Index seed) {
    return backward(x, enc, dy, src, gamma, n_layers, n_heads, seed)[1];
}

std::vector<Tensor> both(const Tensor& x, const Tensor& enc, const Tensor& dy, const Ids& src,
                         const Tensor& gamma, Index n_layers, Index n_heads, Index seed) {
    const std::vector<Tensor> all = backward(x, enc, dy, src, gamma, n_layers, n_heads, seed);
    return {all[0], all[1]};
}

std::vector<Tensor> dnorm(const Tensor& x, const Tensor& enc, const Tensor& dy, const Ids& src,
                          const Tensor& gamma, Index n_layers, Index n_heads, Index seed) {
    const std::vector<Tensor> all = backward(x, enc, dy, src, gamma, n_layers, n_heads, seed);
    return {all[2], all[3]};
}

}  // namespace

int main() {
    return judge::serve({{"dx", judge::function(dx)},
                         {"denc", judge::function(denc)},
                         {"both", judge::function(both)},
                         {"dnorm", judge::function(dnorm)}});
}
