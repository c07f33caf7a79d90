#pragma once

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
/// Reads `b` once. The same bits for any number of threads.
void multiply_few_rows(const FewRowsProduct& product);

}  // namespace abh
