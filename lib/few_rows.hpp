#pragma once

#include <span>

#include "lib/matmul.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [few rows]
/// `c = scale * a op(b)`, or `c += ...`, where `a` is `[m, k]`, `c` is `[m, n]` and `b` is `[k, n]`
/// or, transposed, `[n, k]`.
struct FewRowsProduct {
    const Real* a;
    const Real* b;
    Real* c;
    Index m, k, n;
    Real scale;
    bool transpose_b, add;
};

/// Whether such a product is best done by `multiply_few_rows`.
bool has_few_rows(Index m, Index k, Index n);
/// Reads each `b` once. The same bits for any number of threads.
/// @param products  at most `most_together`, of the same sizes; made one after the other, in one
///                  pass of all threads
void multiply_few_rows(std::span<const FewRowsProduct> products);

}  // namespace abh
