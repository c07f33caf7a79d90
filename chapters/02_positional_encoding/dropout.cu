#include "chapters/02_positional_encoding/dropout.hpp"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/random.cuh"

namespace abh::cuda {
// [dropout]
namespace {

/// A warp takes 128 elements at a time. Each lane draws four numbers and takes four elements that
/// are 32 apart, so that every access of the warp is to consecutive memory. In single precision, an
/// element costs 9 bytes, 4 read and 5 written, and a quarter of the ten rounds of Philox.
__global__ void dropout_kernel(Index n, Global<Real> y, Global<std::uint8_t> kept,
                               Global<const Real> x, StreamState stream, Real p, Real factor) {
    __shared__ Words words;
    const int own = static_cast<int>(threadIdx.x) / warp;
    for (Index first = first_element() / warp * drawn; first < n;
         first += all_threads() / warp * drawn) {
        Real v[4];
        for (int quarter = 0; quarter < 4; ++quarter) {  // loads while the lanes draw
            const Index i = first + quarter * warp + lane();
            v[quarter] = i < n ? Real(x[i]) : Real(0);
        }
        draw(words, own, first, stream);
        for (int quarter = 0; quarter < 4; ++quarter) {
            const Index i = first + quarter * warp + lane();
            if (i >= n) continue;
            const bool keep = drawn_number(words, own, quarter) >= p;
            kept[i] = keep;
            y[i] = v[quarter] * (factor * static_cast<Real>(keep));
        }
    }
}

}  // namespace

Tensor dropout(const Tensor& x, const Dropout& layer, Mask& kept) {
    Tensor y(x.shape());
    launch("dropout", dropout_kernel, grid_for((x.size() + 3) / 4), x.size(), y.on_device(),
           kept.on_device(), x.on_device(), state_of(layer.stream()), layer.p(), layer.factor());
    return y;
}
// [backward]
namespace {

/// One thread per element, and neighboring threads take neighboring elements. In single precision,
/// each element takes 9 bytes for two products.
__global__ void apply_dropout_kernel(Index n, Global<Real> y, Global<const Real> x,
                                     Global<const std::uint8_t> kept, Real factor) {
    for (Index i = first_element(); i < n; i += all_threads())
        y[i] = x[i] * (factor * static_cast<Real>(kept[i]));
}

}  // namespace

Tensor dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept) {
    Tensor dx(dy.shape());
    launch("dropout backward", apply_dropout_kernel, grid_for(dy.size()), dy.size(), dx.on_device(),
           dy.on_device(), kept.on_device(), layer.factor());
    return dx;
}

}  // namespace abh::cuda
