#include "chapters/06_feed_forward/relu.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"

namespace abh::cuda {
// [relu]
namespace {

/// One thread per element, in the order of memory. 8 bytes per element in single precision.
__global__ void relu_kernel(Index n, Global<Real> y, Global<const Real> x) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real v = x[i];
        y[i] = v < 0 ? Real(0) : v;
    }
}

}  // namespace

Tensor relu(const Tensor& x) {
    Tensor y(x.shape());
    launch("relu", relu_kernel, grid_for(x.size()), x.size(), y.on_device(), x.on_device());
    return y;
}

Tensor linear_relu(const Tensor& x, const Linear& map, Linear::Cache*) {
    return linear_map(x, map, true);
}
// [relu: backward]
namespace {

/// The same, with 12 bytes per element.
__global__ void relu_backward_kernel(Index n, Global<Real> dx, Global<const Real> dy,
                                     Global<const Real> y) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real v = dy[i];
        dx[i] = y[i] > 0 ? v : Real(0);
    }
}

}  // namespace

Tensor relu_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    launch("relu backward", relu_backward_kernel, grid_for(y.size()), y.size(), dx.on_device(),
           dy.on_device(), y.on_device());
    return dx;
}

}  // namespace abh::cuda
