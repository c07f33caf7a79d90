#include "chapters/03_masks/masks.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [cuda: rows]
namespace {

constexpr int rows_of_block = 8;

/// A warp for each row of a mask `[B, Lq, Lk]`.
Grid warp_for_each_row(const Mask& mask) {
    const Index rows = mask.dim(0) * mask.dim(1);
    return {dim3(static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block)),
            dim3(warp, rows_of_block)};
}

__device__ Index own_row() {
    return static_cast<Index>(blockIdx.x) * rows_of_block + threadIdx.y;
}

/// Lanes side by side along the keys. A row's keys, 4 bytes each, are those of the Lq - 1 other
/// rows of its sentence, and come from the cache: what counts is the one byte that each element
/// writes.
__global__ void padding_mask_kernel(Index batch, Index n_queries, Index n_keys,
                                    Global<std::uint8_t> mask, Global<const std::int32_t> keys,
                                    std::int32_t pad) {
    const Index row = own_row(), b = row / n_queries;
    if (b >= batch) return;
    for (Index j = threadIdx.x; j < n_keys; j += warp)
        mask[row * n_keys + j] = keys[b * n_keys + j] == pad;
}

__global__ void look_ahead_mask_kernel(Index batch, Index length, Global<std::uint8_t> mask) {
    const Index row = own_row(), b = row / length, i = row % length;
    if (b >= batch) return;
    for (Index j = threadIdx.x; j < length; j += warp) mask[row * length + j] = j > i;
}

}  // namespace

void padding_mask(Mask& mask, const Ids& keys, std::int32_t pad) {
    launch("padding mask", padding_mask_kernel, warp_for_each_row(mask), mask.dim(0), mask.dim(1),
           mask.dim(2), mask.on_device(), keys.on_device(), pad);
}

void look_ahead_mask(Mask& mask) {
    launch("look-ahead mask", look_ahead_mask_kernel, warp_for_each_row(mask), mask.dim(0),
           mask.dim(1), mask.on_device());
}
// [cuda: combine]
namespace {

__global__ void either_kernel(Index n, Global<std::uint8_t> result, Global<const std::uint8_t> a,
                              Global<const std::uint8_t> b) {
    for (Index i = first_element(); i < n; i += all_threads()) result[i] = a[i] || b[i];
}

__global__ void invert_kernel(Index n, Global<std::uint8_t> result,
                              Global<const std::uint8_t> mask) {
    for (Index i = first_element(); i < n; i += all_threads()) result[i] = !mask[i];
}

}  // namespace

void either(Mask& result, const Mask& a, const Mask& b) {
    launch("either", either_kernel, grid_for(result.size()), result.size(), result.on_device(),
           a.on_device(), b.on_device());
}

void invert(Mask& result, const Mask& mask) {
    launch("invert", invert_kernel, grid_for(result.size()), result.size(), result.on_device(),
           mask.on_device());
}

}  // namespace abh::cuda
