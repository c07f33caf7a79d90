#include "judge/answer/serve.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {
Tensor tree_sum(const Tensor& parts);
}

int main() {
    using namespace abh::judge;
    return serve({{"tree_sum", function(abh::mine::tree_sum)}});
}
