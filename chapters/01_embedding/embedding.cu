#include "chapters/01_embedding/embedding.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [gather]
namespace {

constexpr int gather_threads = 128;

/// One block per position, with its threads side by side along the row, so that a warp reads and
/// writes 32 consecutive numbers, wherever the row is. Memory traffic is the limit: in single
/// precision, 8 d_model bytes for d_model products.
__global__ void gather_rows_kernel(Index d_model, Global<Real> y, Global<const Real> table,
                                   Global<const std::int32_t> ids, Real factor) {
    const Index i = blockIdx.x, word = ids[i];
    for (Index j = threadIdx.x; j < d_model; j += blockDim.x)
        y[i * d_model + j] = factor * table[word * d_model + j];
}

}  // namespace

Tensor embedding(const Ids& ids, const Embedding& words, Embedding::Cache*) {
    const Tensor& table = words.table.value;
    Tensor y({ids.dim(0), ids.dim(1), words.d_model()});
    launch("gather rows", gather_rows_kernel, blocks_of(ids.size(), gather_threads), table.dim(1),
           y.on_device(), table.on_device(), ids.on_device(), words.factor());
    return y;
}
// [scatter]
namespace {

constexpr Index widest_block = 1024;

/// The answers of a warp's 32 lanes as bits, the same in every lane.
__device__ std::uint32_t answers_of_warp(bool answer) {
    std::uint32_t bits = static_cast<std::uint32_t>(answer) << lane();
    for (int other = warp / 2; other > 0; other /= 2)
        bits |= __shfl_xor_sync(0xffffffffu, bits, other);
    return bits;
}

/// One block per position's row, or per 1024 columns of it. It looks through all ids, as many at a
/// time as it has threads, for those that equal its own. If one comes earlier, another block is
/// responsible for this word, and this block ends. So a single block, that of the word's first
/// place, adds the word's rows in the order of their places, and keeps the sum in a register. No
/// two blocks write the same element, and each sum has the order of the loop on the processor.
/// Memory traffic: each row of `dy`, except those of the padding, is read once, and each row of
/// `dtable` that changes is read and written once; the blocks read the ids, up to 4 n bytes each,
/// from the cache.
__global__ void scatter_add_rows_kernel(Index n, Index d_model, Global<Real> dtable,
                                        Global<const Real> dy, Global<const std::int32_t> ids,
                                        Real factor, std::int32_t padding_id) {
    __shared__ Shared<std::uint32_t, widest_block / warp> equal;
    const Index own = blockIdx.x;
    const std::int32_t word = ids[own];
    if (word == padding_id) return;
    const Index j = static_cast<Index>(blockIdx.y) * blockDim.x + threadIdx.x;
    const bool inside = j < d_model;
    Real sum = 0;
    for (Index tile = 0; tile < n; tile += blockDim.x) {
        const Index other = tile + threadIdx.x;
        const std::uint32_t bits = answers_of_warp(other < n && ids[other] == word);
        __syncthreads();  // other warps may still be reading the last bits
        if (lane() == 0) equal[threadIdx.x / warp] = bits;
        __syncthreads();
        for (int w = 0; w < static_cast<int>(blockDim.x) / warp; ++w) {
            const std::uint32_t found = equal[w];
            for (int l = 0; l < warp && found >> l > 0; ++l) {
                if ((found >> l) % 2 == 0) continue;
                const Index i = tile + w * warp + l;
                if (i < own) return;  // the same for all threads of the block
                if (!inside) continue;
                if (i == own) sum = dtable[word * d_model + j];
                sum += factor * dy[i * d_model + j];
            }
        }
    }
    if (inside) dtable[word * d_model + j] = sum;
}

}  // namespace

void embedding_backward(const Tensor& dy, Embedding& words, const Embedding::Cache& cache) {
    const Ids& ids = cache.ids;
    Tensor& dtable = words.table.grad();
    const Index n = ids.size(), d_model = dtable.dim(1);
    const Index threads =
        std::clamp<Index>(ceil_div(d_model, warp) * warp, block_size, widest_block);
    Grid grid = blocks_of(n, static_cast<int>(threads));
    grid.blocks.y = static_cast<unsigned>(ceil_div(d_model, threads));
    launch("scatter rows", scatter_add_rows_kernel, grid, n, d_model, dtable.on_device(),
           dy.on_device(), ids.on_device(), words.factor(), words.options().padding_id);
}

}  // namespace abh::cuda
