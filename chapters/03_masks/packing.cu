#include "chapters/03_masks/packing.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
Tensor pack_rows(const Tensor& x, const Packing& packing);
Tensor unpack_rows(const Tensor& x, const Packing& packing);
// [packing]
namespace {

/// One block for each place of each sentence, with its threads side by side along the row.
/// Sentences run along x, where a grid may have more than 65,535 blocks.
Grid block_for_each_place(const Packing& packing) {
    return {dim3(static_cast<unsigned>(packing.sentences()), static_cast<unsigned>(packing.length)),
            dim3(block_size)};
}

/// The packed row of the block's place, or -1 if the place is left out.
__device__ Index packed_row(Global<const std::int32_t> offsets) {
    const Index row = offsets[blockIdx.x] + static_cast<Index>(blockIdx.y);
    return row < offsets[blockIdx.x + 1] ? row : -1;
}

__device__ Index padded_row() {
    return static_cast<Index>(blockIdx.x) * gridDim.y + blockIdx.y;
}

/// Each element of `y` is read once and written once.
__global__ void pack_kernel(Index n, Global<Real> y, Global<const Real> x,
                            Global<const std::int32_t> offsets) {
    const Index to = packed_row(offsets), from = padded_row();
    if (to < 0) return;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) y[to * n + j] = x[from * n + j];
}

__global__ void unpack_kernel(Index n, Global<Real> y, Global<const Real> x,
                              Global<const std::int32_t> offsets) {
    const Index to = padded_row(), from = packed_row(offsets);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[to * n + j] = from < 0 ? Real(0) : Real(x[from * n + j]);
}

}  // namespace

Tensor pack_rows(const Tensor& x, const Packing& packing) {
    Tensor y({1, packing.rows(), x.dim(2)});
    launch("pack", pack_kernel, block_for_each_place(packing), x.dim(-1), y.on_device(),
           x.on_device(), packing.offsets.on_device());
    return y;
}

Tensor unpack_rows(const Tensor& x, const Packing& packing) {
    Tensor y({packing.sentences(), packing.length, x.dim(2)});
    launch("unpack", unpack_kernel, block_for_each_place(packing), x.dim(-1), y.on_device(),
           x.on_device(), packing.offsets.on_device());
    return y;
}

}  // namespace abh::cuda
