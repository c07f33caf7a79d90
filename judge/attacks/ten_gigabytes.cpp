// Takes ten gigabytes of memory.
#include <cstring>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    std::vector<char*> kept;
    for (int i = 0; i < 10240; ++i) {
        kept.push_back(new char[1 << 20]);
        std::memset(kept.back(), 1, 1 << 20);
    }
    return w;
}
}  // namespace abh::mine
