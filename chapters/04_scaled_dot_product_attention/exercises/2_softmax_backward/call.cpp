#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor softmax_backward(const Tensor& dw, const Tensor& w, int axis);
}

int main() {
    using namespace abh::judge;
    return serve({{"softmax_backward", function(abh::mine::softmax_backward)}});
}
