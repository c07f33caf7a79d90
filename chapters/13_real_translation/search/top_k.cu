#include "chapters/09_training/loss/argmax.hpp"
#include "chapters/13_real_translation/search/top_k.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [top k]
namespace {

__device__ bool among(Global<const std::int32_t> ids, Index n, Index word) {
    for (Index i = 0; i < n; ++i)
        if (ids[i] == word) return true;
    return false;
}

/// One block per row. It reads the row once for each word wanted, to find the largest logit after
/// the one found last. From the second time on, the row comes from the caches.
__global__ void top_k_kernel(Index n_words, Index n, Index n_never, Global<Choice> choices,
                             Global<const Real> logits, Global<const Prediction> predictions,
                             Global<const std::int32_t> never) {
    const Global<const Real> z = logits + static_cast<Index>(blockIdx.x) * n_words;
    const Prediction best = predictions[blockIdx.x];
    Real last = infinity<Real>();
    Index last_word = -1;
    for (Index i = 0; i < n; ++i) {
        Real largest = -infinity<Real>();
        Index word = n_words;  // none yet
        for (Index w = threadIdx.x; w < n_words; w += blockDim.x) {
            const Real v = z[w];
            const bool behind = v < last || (v == last && w > last_word);
            if (behind && (v > largest || word == n_words) && !among(never, n_never, w)) {
                largest = v;
                word = w;
            }
        }
        last = block_max(largest);
        // the first among equals; a Real holds such an id exactly
        word = largest == last ? word : n_words;
        last_word = static_cast<Index>(-block_max(-static_cast<Real>(word)));
        if (threadIdx.x == 0)
            choices[static_cast<Index>(blockIdx.x) * n + i] =
                Choice{static_cast<std::int32_t>(last_word < n_words ? last_word : 0),
                       last - z[best.word] + log(best.probability)};
    }
}

}  // namespace

BasicTensor<Choice> top_k(const Tensor& logits, Index n, const Ids& never) {
    const Index n_words = logits.dim(2);
    require(n_words <= Index{1} << 24, "top_k: {} words, expected at most 2^24", n_words);
    const BasicTensor<Prediction> predictions = argmax(logits);
    BasicTensor<Choice> choices({logits.dim(0), n});
    launch("top k", top_k_kernel, block_a_row(logits.dim(0), n_words), n_words, n, never.size(),
           choices.on_device(), logits.on_device(), predictions.on_device(), never.on_device());
    return choices;
}

}  // namespace abh::cuda
