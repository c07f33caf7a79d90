#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"
#include "lib/fast/gradient.hpp"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [bias]
namespace {

/// One thread per element. Neighbors take neighboring elements, so a warp reads 128 contiguous
/// bytes of `y` and of `bias`. The bias, which is read again for every row, stays in the cache.
__global__ void add_bias_kernel(Index n_elements, Index n, Global<Real> y, Global<const Real> bias,
                                bool relu) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Real v = bias ? y[i] + bias[i % n] : Real(y[i]);
        y[i] = relu && v < 0 ? Real(0) : v;
    }
}

}  // namespace

Tensor linear_map(const Tensor& x, const Linear& map, bool relu) {
    Tensor y = matmul(flat(x), map.weight.value, {.transpose_b = true});
    const Tensor& bias = map.bias.value;
    if (map.has_bias() || relu)
        launch("bias", add_bias_kernel, grid_for(y.size()), y.size(), y.dim(-1), y.on_device(),
               bias.empty() ? nullptr : bias.on_device(), relu);
    return y.reshape(x.shape().with(-1, map.d_out()));
}
// [linear]
Tensor linear(const Tensor& x, const Linear& map) {
    return linear_map(x, map, false);
}

Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    fast::add_product(map.weight.gradient, flat(dy), flat(cache.x));
    map.weight.grad();  // multiplies at once, because nothing waits on a device
    if (map.has_bias()) add_column_sums(map.bias.grad(), dy);
    return matmul(flat(dy), map.weight.value).reshape(cache.x.shape());
}

}  // namespace abh::cuda
