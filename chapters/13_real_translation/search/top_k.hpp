#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [top k]
/// A word that may come next, and the logarithm of its probability.
struct Choice {
    std::int32_t word;
    Real log_probability;
};

/// The n likeliest words of each row of logits, the likeliest first, of equal ones the first. Their
/// probabilities are those of softmax over all words.
/// @param logits  `[R, 1, n_words]`
/// @param n       at least 1, at most as many as there are words besides those of `never`
/// @param never   ids that are passed over, ascending, `[m]`
/// @return        `[R, n]`
/// @throws std::invalid_argument for another shape, or ids or a number that do not fit
BasicTensor<Choice> top_k(const Tensor& logits, Index n, const Ids& never = {});

}  // namespace abh
