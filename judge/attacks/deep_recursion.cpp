// Calls itself until the stack ends.

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w) {
    volatile char room[65536];
    room[0] = static_cast<char>(w.rank());
    return softmax_backward(w, w);
}
}  // namespace abh::mine
