#include "chapters/06_feed_forward/relu.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"

namespace abh::cuda {
// [relu]
namespace {

/// One thread per four elements, in the order of memory. 8 bytes per element in single precision.
__global__ void relu_kernel(Elements all, Global<Real> y, Global<const Real> x) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> a = some<n>(x)[i];
        for (Real& v : a.v) v = v < 0 ? Real(0) : v;
        some<n>(y)[i] = a;
    });
}

}  // namespace

Tensor relu(const Tensor& x) {
    Tensor y(x.shape());
    launch_elements("relu", relu_kernel, x.size(), true, y.on_device(), x.on_device());
    return y;
}

Tensor linear_relu(const Tensor& x, const Linear& map, Linear::Cache*) {
    const std::optional<Tensor> y = linear_map(x, map, true);
    return y ? *y : cuda::relu(linear(x, map));
}
// [relu: backward]
namespace {

/// The same, with 12 bytes per element.
__global__ void relu_backward_kernel(Elements all, Global<Real> dx, Global<const Real> dy,
                                     Global<const Real> y) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> d = some<n>(dy)[i];
        const Some<Real, n> a = some<n>(y)[i];
        for (int e = 0; e < n; ++e) d.v[e] = a.v[e] > 0 ? d.v[e] : Real(0);
        some<n>(dx)[i] = d;
    });
}

}  // namespace

Tensor relu_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    launch_elements("relu backward", relu_backward_kernel, y.size(), true, dx.on_device(),
                    dy.on_device(), y.on_device());
    return dx;
}

}  // namespace abh::cuda
