#pragma once

#include "lib/tensor.hpp"
#include "lib/way.hpp"

namespace abh {
// [options]
struct CrossEntropyOptions {
    std::int32_t ignore = 0;  ///< targets with this id do not count: padding
    Real smoothing = 0;       ///< share of the target spread evenly over all words
    /// Divide by so many targets, those of several batches of which this is one; 0: by those here.
    Index of_words = 0;
};
// [cross entropy]
struct CrossEntropyCache {
    Way way = Way::fast;   ///< of the forward pass
    Tensor probabilities;  ///< softmax of the logits, [rows, n_words]
    Ids targets;           ///< as given
    Index counted = 0;     ///< targets that are not ignored, or as many as the options say
    CrossEntropyOptions options;
};

/// Mean over the targets that count of `- sum_j pi_j log softmax(logits)_j`, where pi is 1 at the
/// target, or, smoothed by e, `1 - e + e/n` there and `e/n` elsewhere: PyTorch's `cross_entropy`.
/// With `of_words` the sum is divided by that number instead.
///
/// @param logits   `[B, L, n_words]`
/// @param targets  `[B, L]`, ids in 0..n_words-1
/// @param cache    filled for `cross_entropy_backward`
/// @throws std::invalid_argument if shapes do not fit, an id is out of range or all are ignored
double cross_entropy(const Tensor& logits, const Ids& targets,
                     const CrossEntropyOptions& options = {}, CrossEntropyCache* cache = nullptr);

/// Gradient of `cross_entropy`: `dlogits = (p - pi) / counted`, rows of ignored targets 0.
/// @return `[B, L, n_words]`
Tensor cross_entropy_backward(const CrossEntropyCache& cache);
/// What the sum of the losses is divided by: how many targets count, or what the options say.
/// @throws std::invalid_argument if one is not a word, none counts, more count than the options
///         say, or smoothing is out of range
Index count_targets(const Ids& targets, Index n_words, const CrossEntropyOptions& options);

}  // namespace abh
