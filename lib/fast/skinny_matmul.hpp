#pragma once

#include "lib/matmul.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [skinny]
/// `c = scale * a op(b)`, or `c += ...`, where `a` is `[m, k]`, `c` is `[m, n]` and `b` is `[k, n]`
/// or, transposed, `[n, k]`.
struct SkinnyProduct {
    const Real* a;
    const Real* b;
    Real* c;
    Index m, k, n;
    Real scale;
    bool transpose_b, add;
};

/// Whether such a product is best done by `skinny_matmul`.
bool is_skinny(Index m, Index k, Index n);
/// Reads `b` from memory once. The same bits for any number of threads.
void skinny_matmul(const SkinnyProduct& product);

}  // namespace abh
