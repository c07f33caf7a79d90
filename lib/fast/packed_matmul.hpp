#pragma once

#include "lib/fast/product.hpp"

namespace abh {
// [packed]
/// A product of any size, on the calling thread. Rows or columns of `a` are numbers side by side,
/// and likewise of `b`. An element's bits depend on its row of `a`, its column of `b` and `scale`
/// alone, not on the rest of the product: parts can be computed apart, on any thread.
void packed_matmul(const Product& product);

}  // namespace abh
