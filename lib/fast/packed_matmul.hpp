#pragma once

#include "lib/fast/small_matmul.hpp"

namespace abh {
// [packed]
/// `c = scale * a b`, or `c += scale * a b`, on the calling thread, for matrices of any size.
/// Either operand may be transposed. An element's bits depend on its row of `a`, its column of `b`
/// and `scale` alone, not on the rest of the product: parts can be computed apart, on any thread.
///
/// @param c       `[m, n]`, row i begins at `c + i * width_c`
/// @param a       `[m, k]`, whose rows or whose columns are numbers side by side
/// @param b       `[k, n]`, likewise
/// @param add     whether to add to what `c` holds
void packed_matmul(Real* c, Index width_c, Strided a, Strided b, Index m, Index n, Index k,
                   Real scale, bool add);

}  // namespace abh
