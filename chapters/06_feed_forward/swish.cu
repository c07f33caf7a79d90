#include "chapters/06_feed_forward/swish.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [swish]
namespace {

/// Still bound by bytes: 8 per element in single precision, for one exponential and one division.
__global__ void swish_kernel(Elements all, Global<Real> y, Global<const Real> x) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> a = some<n>(x)[i];
        for (Real& v : a.v) v = v / (1 + exp(-v));
        some<n>(y)[i] = a;
    });
}

/// The same, with 12 bytes per element. The exponential is computed again, because keeping it would
/// cost 4 more bytes in each pass.
__global__ void swish_backward_kernel(Elements all, Global<Real> dx, Global<const Real> dy,
                                      Global<const Real> x) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> d = some<n>(dy)[i];
        const Some<Real, n> a = some<n>(x)[i];
        for (int e = 0; e < n; ++e) {
            const Real v = a.v[e], s = 1 / (1 + exp(-v));
            d.v[e] *= s + v * s * (1 - s);
        }
        some<n>(dx)[i] = d;
    });
}

}  // namespace

Tensor swish(const Tensor& x) {
    Tensor y(x.shape());
    launch_elements("swish", swish_kernel, x.size(), true, y.on_device(), x.on_device());
    return y;
}

Tensor swish_backward(const Tensor& dy, const Tensor& x) {
    Tensor dx(x.shape());
    launch_elements("swish backward", swish_backward_kernel, x.size(), true, dx.on_device(),
                    dy.on_device(), x.on_device());
    return dx;
}

}  // namespace abh::cuda
