#pragma once

#include "lib/fast/product.hpp"

namespace abh {
// [packed]
/// A product of any size, on the calling thread. Either the rows or the columns of `a` must be
/// contiguous, and likewise of `b`. The bits of an element depend only on its row of `a`, its
/// column of `b` and `scale`, so parts of a product can be computed separately, on any thread.
void packed_matmul(const Product& product);

}  // namespace abh
