// Returns a tensor that is too large for memory.

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    return Tensor({100000, 10000});
}
}  // namespace abh::mine
