#include "chapters/06_feed_forward/feed_forward.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [cuda: relu]
namespace {

/// A thread an element, neighbours side by side. Bytes: 8 an element in single precision.
__global__ void relu_kernel(Index n, Global<Real> y, Global<const Real> x) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real v = x[i];
        y[i] = v < 0 ? Real(0) : v;
    }
}

}  // namespace

void relu(Tensor& y, const Tensor& x) {
    launch("relu", relu_kernel, grid_for(x.size()), x.size(), y.on_device(), x.on_device());
}
// [cuda: relu backward]
namespace {

/// The same with 12 bytes an element.
__global__ void relu_backward_kernel(Index n, Global<Real> dx, Global<const Real> dy,
                                     Global<const Real> y) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real v = dy[i];
        dx[i] = y[i] > 0 ? v : Real(0);
    }
}

}  // namespace

void relu_backward(Tensor& dx, const Tensor& dy, const Tensor& y) {
    launch("relu backward", relu_backward_kernel, grid_for(y.size()), y.size(), dx.on_device(),
           dy.on_device(), y.on_device());
}

}  // namespace abh::cuda
