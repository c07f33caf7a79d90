// Calls itself until the stack overflows.

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    volatile char room[65536];
    room[0] = static_cast<char>(w.rank());
    return softmax_backward(w, w, 0);
}
}  // namespace abh::mine
