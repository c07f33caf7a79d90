#include <limits>

#include "chapters/09_training/loss/argmax.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [argmax]
namespace {

constexpr int nowhere = std::numeric_limits<int>::max();

/// The smallest of the numbers that the threads of a block of whole warps hold. Thread 0 gets it.
__device__ int block_min(int v) {
    __shared__ Shared<int, warp> of_warp;
    const auto warp_min = [](int own) {
        for (int other = warp / 2; other > 0; other /= 2) {
            const int w = __shfl_xor_sync(0xffffffffu, own, other);
            own = w < own ? w : own;
        }
        return own;
    };
    v = warp_min(v);
    const int w = static_cast<int>(threadIdx.x) / warp, warps = static_cast<int>(blockDim.x) / warp;
    if (lane() == 0) of_warp[w] = v;
    __syncthreads();
    return warp_min(lane() < warps ? int(of_warp[lane()]) : nowhere);
}

/// One block per row, which it reads once, four logits a thread at a time. Every thread keeps the
/// largest logit that it has met, the place of this logit, and the sum of exponentials. Bytes are
/// the limit: a row is read.
__global__ void argmax_kernel(Index n, Global<Prediction> best, Global<const Real> logits) {
    const Global<const Real> x = logits + static_cast<Index>(blockIdx.x) * n;
    Real largest = lowest, total = 0;
    int place = nowhere;
    for_row(n, [&](const SomeOfRow& some) {
        Real v[SomeOfRow::count];
        some.read(v, x, -infinity<Real>());
        const Real before = largest;
        for (int e = 0; e < some.count; ++e)
            if (v[e] > largest) {
                largest = v[e];
                place = some.at(e);
            }
        total *= exp(before - largest);
        for (const Real logit : v) total += exp(logit - largest);
    });
    const Real of_row = block_max(largest);
    total = block_sum(total * exp(largest - of_row));
    place = block_min(largest == of_row ? place : nowhere);
    if (threadIdx.x == 0) best[blockIdx.x] = Prediction{place < n ? place : 0, 1 / total};
}

}  // namespace

BasicTensor<Prediction> argmax(const Tensor& logits) {
    const Index n = logits.dim(2);
    BasicTensor<Prediction> best({logits.dim(0), logits.dim(1)});
    launch("argmax", argmax_kernel, block_a_row(best.size(), n), n, best.on_device(),
           logits.on_device());
    return best;
}

}  // namespace abh::cuda
