#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor there_and_back(const Tensor& x, const Tensor& weight);
Tensor there_and_back_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, Tensor& dW);
}  // namespace abh::mine

namespace {

using namespace abh;

Tensor dx(const Tensor& dy, const Tensor& x, const Tensor& weight) {
    Tensor dW = Tensor::zeros(weight.shape());
    return mine::there_and_back_backward(dy, x, weight, dW);
}

Tensor dW(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& before) {
    Tensor sum = before.clone();
    mine::there_and_back_backward(dy, x, weight, sum);
    return sum;
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"there_and_back", function(mine::there_and_back)},
                  {"dx", function(dx)},
                  {"dW", function(dW)}});
}
