#include "../linear.hpp"
#include "judge/answer/serve.hpp"

namespace abh::mine {
Tensor linear(const Tensor& x, const Linear& map);
}

namespace {

using namespace abh;

Tensor call(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return mine::linear(x, judge::map_of(weight, bias));
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"linear", function(call)}});
}
