#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [argmax]
/// A word, and how likely it is.
struct Prediction {
    std::int32_t word;
    Real probability;
};

/// The likeliest word of each row of logits, of equal ones the first, and its probability: softmax,
/// but the other words' probabilities are only summed.
/// @param logits  `[B, L, n_words]`
/// @return        `[B, L]`
/// @throws std::invalid_argument for another shape, or without words
BasicTensor<Prediction> argmax(const Tensor& logits);

}  // namespace abh
