#include "chapters/02_positional_encoding/dropout.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/random.cuh"

namespace abh::cuda {
// [dropout]
namespace {

/// Philox draws four numbers at once, and a thread takes the four elements that they belong to. In
/// single precision, an element costs 9 bytes, 4 read and 5 written, and a quarter of the ten
/// rounds of Philox.
__global__ void dropout_kernel(Elements all, Global<Real> y, Global<std::uint8_t> kept,
                               Global<const Real> x, StreamState stream, Real p, Real factor) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(x)[i];  // arrives while the thread draws
        Some<std::uint8_t, n> keep;
        const auto words = words_of(stream, n * i / 4);
        for (int e = 0; e < n; ++e) {
            const int word = n == 4 ? e : static_cast<int>(i % 4);
            keep.v[e] = number_of(words[static_cast<std::size_t>(word)]) >= p;
            u.v[e] *= keep.v[e] ? factor : Real(0);
        }
        some<n>(kept)[i] = keep;
        some<n>(y)[i] = u;
    });
}

}  // namespace

Tensor dropout(const Tensor& x, const Dropout& layer, Mask& kept) {
    Tensor y(x.shape());
    launch_elements("dropout", dropout_kernel, x.size(), true, y.on_device(), kept.on_device(),
                    x.on_device(), state_of(layer.stream()), layer.p(), layer.factor());
    return y;
}
// [backward]
namespace {

/// In single precision, each element takes 9 bytes for one product.
__global__ void apply_dropout_kernel(Elements all, Global<Real> y, Global<const Real> x,
                                     Global<const std::uint8_t> kept, Real factor) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(x)[i];
        const Some<std::uint8_t, n> keep = some<n>(kept)[i];
        for (int e = 0; e < n; ++e) u.v[e] *= keep.v[e] ? factor : Real(0);
        some<n>(y)[i] = u;
    });
}

}  // namespace

Tensor dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept) {
    Tensor dx(dy.shape());
    launch_elements("dropout backward", apply_dropout_kernel, dy.size(), true, dx.on_device(),
                    dy.on_device(), kept.on_device(), layer.factor());
    return dx;
}

}  // namespace abh::cuda
