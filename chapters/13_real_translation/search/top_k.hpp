#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [top k]
/// A word that may come next, and the logarithm of its probability.
struct Choice {
    std::int32_t word;
    Real log_probability;
};

/// The n likeliest words of each row of logits, likeliest first; among equals, the lower id comes
/// first. Their probabilities are those of softmax over all words.
/// @param logits  `[R, 1, n_words]`
/// @param n       at least 1, and at most the number of words that are not in `never`
/// @param never   ids to skip, ascending, `[m]`
/// @return        `[R, n]`
/// @throws std::invalid_argument if the logits have another shape, or `n` or `never` does not fit
BasicTensor<Choice> top_k(const Tensor& logits, Index n, const Ids& never = {});

}  // namespace abh
