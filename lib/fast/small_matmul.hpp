#pragma once

#include "lib/fast/lanes.hpp"

namespace abh {
// [small product]
/// The first multiple of `lanes` that is not below `n`.
constexpr Index whole_lanes(Index n) {
    return ceil_div(n, lanes) * lanes;
}

/// A matrix somewhere in memory: element (i, j) stands at `data[i * row + j * column]`.
struct Strided {
    const Real* data;
    Index row, column;

    Strided transposed() const { return {data, column, row}; }
    /// What begins at element (i, j).
    Strided from(Index i, Index j) const { return {data + i * row + j * column, row, column}; }
};

/// What `small_matmul` computes at once, at most: so many rows, and so many times `lanes` columns.
#ifdef __AVX512F__  // 32 registers of 16 numbers; elsewhere 16 of 8, and `lanes` takes two
constexpr int tile_height = 6, tile_width = 4;
#else
constexpr int tile_height = 6, tile_width = 1;
#endif

/// `c = a b`, or `c += a b`, for matrices that a core's cache holds; on the calling thread. Each
/// number of `a` multiplies a row of `b`, so `a` may be transposed at no cost.
///
/// @param c       row i begins at `c + i * width_c`
/// @param a       `[m, k]`
/// @param b       row p begins at `b + p * width_b`; k rows
/// @param m       rows of `c`
/// @param n       columns of `b` and `c`, a multiple of `lanes`
/// @param k       the inner size
/// @param add     whether to add to what `c` holds
void small_matmul(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index n,
                  Index k, bool add);

}  // namespace abh
