#include "chapters/05_multi_head_attention/multi_head_attention.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [cuda: heads]
namespace {

/// A block a word, whose threads take its numbers one beside the other: a warp reads or writes the
/// word's row in one piece, and pieces of d_k numbers of the heads. A copy, bound by its bytes.
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

void split_heads(Tensor& y, const Tensor& x) {
    move_heads(y, x, y.shape(), true);
}

void join_heads(Tensor& y, const Tensor& x) {
    move_heads(y, x, x.shape(), false);
}

}  // namespace abh::cuda
