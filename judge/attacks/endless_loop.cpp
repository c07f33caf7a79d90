// Never returns.
#include <atomic>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    for (std::atomic<int> i{0};; ++i) {
    }
}
}  // namespace abh::mine
