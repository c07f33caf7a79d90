#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [heads]
namespace {

/// One block per word, and neighboring threads take neighboring numbers, so a warp reads or writes
/// the word's row in one piece and the heads' rows in pieces of d_k numbers. Since this is a copy,
/// it is bound by bytes.
__global__ void move_heads_kernel(Index length, Index n_heads, unsigned d_k, Global<Real> y,
                                  Global<const Real> x, bool split) {
    const Index word = blockIdx.x, b = word / length, l = word % length;
    const auto d_model = static_cast<unsigned>(n_heads) * d_k;
    for (unsigned c = threadIdx.x; c < d_model; c += blockDim.x) {
        const unsigned h = c / d_k;
        const Index joined = word * d_model + c;
        const Index apart = ((b * n_heads + h) * length + l) * d_k + c % d_k;
        y[split ? apart : joined] = x[split ? joined : apart];
    }
}

void move_heads(Tensor& y, const Tensor& x, const Shape& apart, bool split) {
    if (x.empty()) return;
    const Index row = apart[1] * apart[3];
    const int threads = row > block_size / 2 ? block_size : block_size / 4;
    launch("heads", move_heads_kernel, blocks_of(apart[0] * apart[2], threads), apart[2], apart[1],
           static_cast<unsigned>(apart[3]), y.on_device(), x.on_device(), split);
}

}  // namespace

Tensor split_heads(const Tensor& x, Index n_heads) {
    Tensor y({x.dim(0), n_heads, x.dim(1), x.dim(2) / n_heads});
    move_heads(y, x, y.shape(), true);
    return y;
}

Tensor join_heads(const Tensor& x) {
    Tensor y({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
    move_heads(y, x, x.shape(), false);
    return y;
}

}  // namespace abh::cuda
