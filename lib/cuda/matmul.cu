#include "lib/cuda/runtime.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [multiply]
/// The matrices follow one another in memory, so the library multiplies all of them in one call.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Product any = product_of(a, b, o, add);
    multiply(any.at(c.on_device(), a.on_device(), b.on_device()), matrices(c.shape()), {},
             factors16(a, b));
}

}  // namespace abh::cuda
