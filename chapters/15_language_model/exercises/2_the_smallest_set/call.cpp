#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor smallest_set(const Tensor& probabilities, Real top_p);
}

int main() {
    using namespace abh;
    return judge::serve({{"smallest_set", judge::function(mine::smallest_set)}});
}
