// Pragmas that would load a plugin, or turn the judge's code off.
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
