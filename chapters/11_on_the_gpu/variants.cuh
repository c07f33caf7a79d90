#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [variants]
// The same work done in ways that ask more and less of the memories. All results are fresh tensors.

/// `x` again: each thread takes `together` elements that follow one another.
Tensor copy(const Tensor& x, int together);

/// The transpose of `[m, n]`, and where the elements turn.
enum class Turn {
    on_the_way,   ///< a thread reads along a row and writes along a column
    tile,         ///< in a tile of 32 x 32 in shared memory
    padded_tile,  ///< in one of 32 x 33
};
Tensor transpose(const Tensor& x, Turn turn);

/// The sum of each row of `[rows, n]`, by one block a row.
enum class Sum {
    tree,   ///< in shared memory: half of the threads add, then a quarter, ...
    warps,  ///< within warps by exchange of registers, then over the warps
};
Tensor row_sums(const Tensor& x, Sum way);

/// `a b` of `[m, k]` and `[k, n]`, a thread for each element of the result.
enum class Multiply {
    plain,  ///< reads a row of `a` and a column of `b` from the device's memory
    tiled,  ///< a block reads tiles of 16 x 16 once for all of its threads
};
Tensor product(const Tensor& a, const Tensor& b, Multiply way);

/// Softmax over the last axis, one block a row.
enum class Passes {
    three,  ///< largest, sum, weights: each reads the row
    two,    ///< largest and sum together, online; then weights
};
Tensor softmax(const Tensor& x, Passes passes);

}  // namespace abh::cuda
