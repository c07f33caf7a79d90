#include <vector>

#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor values_backward(const Tensor& dy, const Tensor& w);
struct BiasedGradients {
    Tensor dq;
    Tensor dk;
    Tensor dv;
    Tensor dbias;
};
BiasedGradients attention_backward(const Tensor& dy, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& w, const Mask& hidden);
}  // namespace abh::mine

namespace {

using namespace abh;

std::vector<Tensor> all_gradients(const Tensor& dy, const Tensor& q, const Tensor& k,
                                  const Tensor& v, const Tensor& w, const Mask& hidden) {
    const auto [dq, dk, dv, dbias] = mine::attention_backward(dy, q, k, v, w, hidden);
    return {dq, dk, dv, dbias};
}

}  // namespace

int main() {
    return judge::serve({{"values_backward", judge::function(mine::values_backward)},
                         {"attention_backward", judge::function(all_gradients)}});
}
