// Pragmas that would load a plugin, or disable the judge's code.
#pragma GCC plugin "/tmp/evil.so"
#pragma GCC poison serve main
#pragma GCC optimize("fplugin=/tmp/evil.so")
#define Tensor Tensor_
#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    return w;
}
}  // namespace abh::mine
