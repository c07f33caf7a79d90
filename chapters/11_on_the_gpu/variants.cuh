#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [variants]
// The same work, done in ways that ask more or less of the memories. Results are fresh tensors.

/// A copy of `x`, in which each thread copies `together` consecutive elements.
/// @throws std::invalid_argument if `together` < 1
Tensor copy(const Tensor& x, int together);

/// How `[m, n]` is transposed, and where rows become columns.
enum class Turn {
    on_the_way,   ///< between memories: neighbors read along a row and write along a column
    tile,         ///< in shared memory, in a tile of 32 x 32
    padded_tile,  ///< in a tile of 32 x 33, whose columns spread over all banks
};
Tensor transpose(const Tensor& x, Turn turn);

/// How a block sums a row of `[rows, n]`; there is one block per row.
enum class Sum {
    tree,   ///< in shared memory: half of the threads add, then a quarter, ...
    warps,  ///< within warps by exchanging registers, then over the warps
};
Tensor row_sums(const Tensor& x, Sum way);

/// How often softmax over the last axis reads a row; there is one block per row.
enum class Passes {
    three,  ///< once each for the largest, the sum and the weights
    two,    ///< once for the largest and the sum together, online; once for the weights
};
Tensor softmax(const Tensor& x, Passes passes);

}  // namespace abh::cuda
