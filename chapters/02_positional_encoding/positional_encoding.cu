#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [add]
namespace {

/// The grid's first axis runs over a sentence's `n` = L d_model elements and its second over
/// sentences, so no thread has to divide to find its column. Memory traffic is the limit, 8 bytes
/// per element in single precision; the codes, read again for every sentence, come from the cache.
__global__ void add_positions_kernel(Index batch, Index n, Global<Real> y, Global<const Real> x,
                                     Global<const Real> codes) {
    for (Index b = blockIdx.y; b < batch; b += gridDim.y)
        for (Index i = first_element(); i < n; i += all_threads())
            y[b * n + i] = x[b * n + i] + codes[i];
}

}  // namespace

Tensor add_positions(const Tensor& x, const Tensor& table, Index first, PositionsCache*) {
    Tensor y(x.shape());
    const Index batch = x.dim(0), d_model = x.dim(2), n = x.dim(1) * d_model;
    Grid grid = grid_for(n);
    grid.blocks.y = static_cast<unsigned>(std::min<Index>(batch, max_blocks));
    launch("positions", add_positions_kernel, grid, batch, n, y.on_device(), x.on_device(),
           table.on_device() + first * d_model);
    return y;
}
// [table]
namespace {

/// One thread per element of the table, which adds that element of all sentences, in the same order
/// as the processor. Each element of `dx` is read once, 4 bytes in single precision.
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
