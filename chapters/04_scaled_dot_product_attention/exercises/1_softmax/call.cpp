#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor softmax(const Tensor& z, Real temperature);
}

int main() {
    using namespace abh::judge;
    return serve({{"softmax", function(abh::mine::softmax)}});
}
