// Includes itself forever.
#include __FILE__
#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    return w;
}
}  // namespace abh::mine
