// Asks the compiler for files that it must not see.
#if __has_include("/etc/shadow") || __has_include("/answer/../judge/cases.cpp") || \
    __has_include("chapters/04_scaled_dot_product_attention/softmax.cpp") || \
    __has_include("chapters/04_scaled_dot_product_attention/exercises/2_softmax_backward/answer.cpp")
#error FOUND a secret file
#endif
#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    return w;
}
}  // namespace abh::mine
