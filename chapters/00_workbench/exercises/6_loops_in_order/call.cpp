#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor product(const Tensor& a, const Tensor& b);
}

int main() {
    using namespace abh::judge;
    return serve({{"product", function(abh::mine::product)}});
}
