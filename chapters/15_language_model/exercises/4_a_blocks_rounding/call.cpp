#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor rounded_block(const Tensor& numbers);
}

int main() {
    using namespace abh;
    return judge::serve({{"rounded_block", judge::function(mine::rounded_block)}});
}
