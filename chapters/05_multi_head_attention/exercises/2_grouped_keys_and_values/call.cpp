#include <vector>

#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor grouped_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                         AttentionCache& cache);
AttentionGradients grouped_attention_backward(const Tensor& dy, const AttentionCache& cache,
                                              Index n_groups);
}  // namespace abh::mine

namespace {

using namespace abh;

Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
    AttentionCache cache;
    return mine::grouped_attention(q, k, v, mask, cache);
}

std::vector<Tensor> backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
                             const Mask& mask) {
    AttentionCache cache;
    mine::grouped_attention(q, k, v, mask, cache);
    const auto [dq, dk, dv] = mine::grouped_attention_backward(dy, cache, k.dim(1));
    return {dq, dk, dv};
}

}  // namespace

int main() {
    return judge::serve({{"grouped_attention", judge::function(forward)},
                         {"grouped_attention_backward", judge::function(backward)}});
}
