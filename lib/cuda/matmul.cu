#include "lib/cuda/runtime.hpp"
#include "lib/matmul.hpp"

namespace abh {
namespace cuda {
decltype(abh::multiply) multiply;
}
// [multiply]
/// The library's product of matrices that follow one another in memory.
void cuda::multiply(Tensor& c, const Tensor& a, const Tensor& b, MatmulOptions o, bool add) {
    const Index m = c.dim(-2), n = c.dim(-1), k = a.dim(o.transpose_a ? -2 : -1);
    multiply({c.on_device(), a.on_device(), b.on_device(), matrices(c.shape()), m, n, k,
              o.transpose_a, o.transpose_b, o.scale, add});
}

}  // namespace abh
