#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [argmax]
/// A word and its probability.
struct Prediction {
    std::int32_t word;
    Real probability;
};

/// The likeliest word of each row of logits (the first, if several are equally likely) and its
/// probability. This is softmax, except that the exponentials of the other words are only summed.
/// @param logits  `[B, L, n_words]`
/// @return        `[B, L]`
/// @throws std::invalid_argument if `logits` has another shape or no words
BasicTensor<Prediction> argmax(const Tensor& logits);

}  // namespace abh
