#include "chapters/03_masks/packing.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [cuda: packing]
namespace {

/// A block for each place of each sentence, `[B, L]`, its threads side by side along the row.
Grid block_for_each_place(const Packing& packing) {
    return {dim3(static_cast<unsigned>(packing.length), static_cast<unsigned>(packing.sentences())),
            dim3(block_size)};
}

/// Packed row of the block's place, or -1 where that is left out.
__device__ Index packed_row(Global<const std::int32_t> first) {
    const Index row = first[blockIdx.y] + static_cast<Index>(blockIdx.x);
    return row < first[blockIdx.y + 1] ? row : -1;
}

__device__ Index padded_row() {
    return static_cast<Index>(blockIdx.y) * gridDim.x + blockIdx.x;
}

/// Each element is read once and written once.
__global__ void pack_kernel(Index n, Global<Real> y, Global<const Real> x,
                            Global<const std::int32_t> first) {
    const Index to = packed_row(first), from = padded_row();
    if (to < 0) return;
    for (Index j = threadIdx.x; j < n; j += blockDim.x) y[to * n + j] = x[from * n + j];
}

__global__ void unpack_kernel(Index n, Global<Real> y, Global<const Real> x,
                              Global<const std::int32_t> first) {
    const Index to = padded_row(), from = packed_row(first);
    for (Index j = threadIdx.x; j < n; j += blockDim.x)
        y[to * n + j] = from < 0 ? Real(0) : Real(x[from * n + j]);
}

}  // namespace

void pack(Tensor& y, const Tensor& x, const Packing& packing) {
    launch("pack", pack_kernel, block_for_each_place(packing), x.dim(-1), y.on_device(),
           x.on_device(), packing.first.on_device());
}

void unpack(Tensor& y, const Tensor& x, const Packing& packing) {
    launch("unpack", unpack_kernel, block_for_each_place(packing), x.dim(-1), y.on_device(),
           x.on_device(), packing.first.on_device());
}

}  // namespace abh::cuda
