#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [add]
namespace {

/// Memory traffic is the limit, 8 bytes per element in single precision; the codes, read again for
/// every sentence, come from the cache.
/// @param sentence  its elements, L d_model; threads take fours only if it consists of fours
__global__ void add_positions_kernel(Elements all, Index sentence, Global<Real> y,
                                     Global<const Real> x, Global<const Real> codes) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(x)[i];
        const Some<Real, n> code = some<n>(codes)[i % (sentence / n)];
        for (int e = 0; e < n; ++e) u.v[e] += code.v[e];
        some<n>(y)[i] = u;
    });
}

}  // namespace

Tensor add_positions(const Tensor& x, const Tensor& table, Index first, PositionsCache*) {
    Tensor y(x.shape());
    const Index d_model = x.dim(2), sentence = x.dim(1) * d_model;
    launch_elements("positions", add_positions_kernel, x.size(), sentence % 4 == 0, sentence,
                    y.on_device(), x.on_device(), table.on_device() + first * d_model);
    return y;
}
// [table]
namespace {

/// One thread per element of the rows that were added, which adds up the gradients that all
/// sentences have for it, in the same order as the processor. Each element of `dx` is read once, 4
/// bytes in single precision.
__global__ void add_positions_backward_kernel(Index batch, Index n, Global<Real> dcodes,
                                              Global<const Real> dx) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        Real sum = dcodes[i];
        for (Index b = 0; b < batch; ++b) sum += dx[b * n + i];
        dcodes[i] = sum;
    }
}

}  // namespace

void add_positions_backward(Tensor& dtable, const Tensor& dx, const PositionsCache& cache) {
    const Index d_model = dx.dim(2), n = dx.dim(1) * d_model;
    launch("positions' table", add_positions_backward_kernel, grid_for(n), dx.dim(0), n,
           dtable.on_device() + cache.first * d_model, dx.on_device());
}

}  // namespace abh::cuda
