#include "chapters/03_masks/masks.hpp"
#include "chapters/04_scaled_dot_product_attention/scaled_dot_product_attention.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [mask]
namespace {

/// One warp per row of scores, so that the place in the mask is computed once per row. Reads one
/// byte per score, and writes only the hidden scores.
__global__ void masked_fill_kernel(Index n_rows, Index n_heads, Index n_queries, Index n_keys,
                                   Global<Real> scores, Global<const std::uint8_t> mask,
                                   MaskSteps step, Real value) {
    for (Index r = first_element() / warp; r < n_rows; r += all_threads() / warp) {
        const Index i = r % n_queries, h = r / n_queries % n_heads, b = r / n_queries / n_heads;
        const Index row = b * step.sentence + h * step.head + i * step.query;
        for (Index j = lane(); j < n_keys; j += warp)
            if (mask[row + j * step.key] != 0) scores[r * n_keys + j] = value;
    }
}

}  // namespace

void masked_fill(Tensor& scores, const Mask& mask, Real value) {
    const Index n_rows = scores.size() / scores.dim(3);
    launch("mask", masked_fill_kernel, grid_for(n_rows * warp), n_rows, scores.dim(1),
           scores.dim(2), scores.dim(3), scores.on_device(), mask.on_device(), steps_of(mask),
           value);
}

}  // namespace abh::cuda
