// Templates that need ever more templates.
template <int N>
struct Endless {
    static constexpr int value = Endless<N + 1>::value + Endless<N + 2>::value;
};
static_assert(Endless<0>::value == 0);

#include "lib/tensor.hpp"

namespace abh::mine {

Tensor softmax_backward(const Tensor&, const Tensor& w, int) {
    return w;
}
}  // namespace abh::mine
