#include "lib/cuda/kernel.cuh"
#include "lib/linear.cuh"

namespace abh::cuda {
// [cuda: bias]
namespace {

/// A thread an element. Neighbours take neighbours of a row, so a warp reads 128 bytes in one
/// piece, of `y` as of `bias`; the bias, read again for every row, stays in the cache.
__global__ void add_bias_kernel(Index n_elements, Index n, Global<Real> y, Global<const Real> bias,
                                bool relu) {
    for (Index i = first_element(); i < n_elements; i += all_threads()) {
        const Real v = bias ? y[i] + bias[i % n] : Real(y[i]);
        y[i] = relu && v < 0 ? Real(0) : v;
    }
}

}  // namespace

void add_bias(Tensor& y, const Tensor& bias, bool relu) {
    launch("bias", add_bias_kernel, grid_for(y.size()), y.size(), y.dim(-1), y.on_device(),
           bias.empty() ? nullptr : bias.on_device(), relu);
}

}  // namespace abh::cuda
