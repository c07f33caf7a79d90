#include "judge/answer/serve.hpp"

namespace abh::mine {
Real scale_gradient(const Tensor& ds, const Tensor& q, const Tensor& k);
}

int main() {
    using namespace abh;
    return judge::serve({{"scale_gradient", judge::function(mine::scale_gradient)}});
}
