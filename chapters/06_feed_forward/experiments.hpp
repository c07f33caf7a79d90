#pragma once

#include <cstdint>

#include "lib/tensor.hpp"

namespace abh {
// [phrases]
/// Teaches a feed-forward layer by gradient descent whether *good*, *bad*, *not good* and *not bad*
/// are complaints, from two numbers: is there a *not*, and is the word *bad*?
/// @return  what the layer says of the four; right is 0, 1, 1, 0
Tensor learn_phrases(Index d_ff, std::uint64_t seed);
// [deep stack]
enum class NormAt { nowhere, after, before };

/// What stands around each sublayer of a stack.
struct Around {
    bool adds;        ///< a residual connection
    NormAt norm;      ///< after the sum, if there is one, or before the sublayer
    Real larger = 1;  ///< a factor of all weights
};

/// Measures a stack of feed-forward sublayers after 0, 1, ..., depth of them: the size (root mean
/// square) of the rows, the size of the gradient with respect to them, the size of that gradient
/// along the residual connections alone, and how alike the rows are (mean cosine of two).
/// @return  `[4, depth + 1]`, in this order
Tensor by_depth(Index depth, const Around& around, std::uint64_t seed);

}  // namespace abh
