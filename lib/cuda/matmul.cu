#include "lib/cuda/runtime.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [multiply]
/// Lets the library multiply matrices that follow one another in memory.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Product any = product_of(a, b, o, add);
    multiply(any.at(c.on_device(), a.on_device(), b.on_device()), matrices(c.shape()));
}

}  // namespace abh::cuda
