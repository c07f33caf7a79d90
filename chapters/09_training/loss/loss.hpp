#pragma once

#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
struct CrossEntropyOptions {
    std::int32_t ignore = 0;  ///< targets with this id, the padding, do not count
    Real smoothing = 0;       ///< share of the target spread evenly over all words
    /// The number of targets to divide by, if these are only a part of a step; 0: count those here.
    Index n_targets = 0;
};
// [cross entropy]
struct CrossEntropyCache {
    Way way = Way::fast;   ///< of the forward pass
    Tensor probabilities;  ///< softmax of the logits, [rows, n_words]
    Ids targets;           ///< as given
    Index counted = 0;     ///< number of targets that are not ignored, or `n_targets`
    CrossEntropyOptions options;
};

/// The mean of `- sum_j pi_j log softmax(logits)_j` over the targets that count, where pi is 1 at
/// the target, or, smoothed by e, `1 - e + e/n` there and `e/n` elsewhere. This is PyTorch's
/// `cross_entropy`. With `n_targets`, the sum is divided by that number instead.
///
/// @param logits   `[B, L, n_words]`
/// @param targets  `[B, L]`, ids in 0..n_words-1
/// @param cache    filled for `cross_entropy_backward`
/// @throws std::invalid_argument if shapes do not fit, or where `count_targets` throws
double cross_entropy(const Tensor& logits, const Ids& targets,
                     const CrossEntropyOptions& options = {}, CrossEntropyCache* cache = nullptr);

/// Gradient of `cross_entropy`: `dlogits = (p - pi) / counted`, 0 in the rows of ignored targets.
/// @return `[B, L, n_words]`
Tensor cross_entropy_backward(const CrossEntropyCache& cache);
/// The number that the sum of the losses is divided by: `n_targets`, or, if that is 0, the number
/// of targets that count.
/// @throws std::invalid_argument if a target is not a word, none counts, more count than
///         `n_targets` says, or smoothing is out of range
Index count_targets(const Ids& targets, Index n_words, const CrossEntropyOptions& options);

}  // namespace abh
