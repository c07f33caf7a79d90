#pragma once

#include "lib/fast/product.hpp"

namespace abh {
// [skinny]
/// Whether a product of whole matrices is best done by `skinny_matmul`: `a` has few rows, and is
/// not transposed.
bool is_skinny(const Product& product);
/// Reads `b` from memory once. The same bits for any number of threads.
void skinny_matmul(const Product& product);

}  // namespace abh
