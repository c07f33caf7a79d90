#include "judge/serve.hpp"
#include "lib/linear.hpp"

namespace abh {
namespace mine {
decltype(linear) linear;
}

// With the constructor here, the linker leaves out the library's own linear map.
Linear::Linear(Index d_in, Index d_out, bool with_bias, Random&)
    : weight(Tensor::zeros({d_out, d_in})) {
    if (with_bias) bias = Parameter(Tensor::zeros({d_out}));
}
}  // namespace abh

namespace {

using namespace abh;

/// @param bias  [d_out], or empty for a map without one
Tensor call(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    Random random(1);
    Linear map(weight.dim(1), weight.dim(0), !bias.empty(), random);
    map.weight.value = weight;
    if (map.has_bias()) map.bias.value = bias;
    return mine::linear(x, map, nullptr);
}

}  // namespace

int main() {
    using namespace abh::judge;
    return serve({{"linear", function(call)}});
}
