#pragma once

#include "lib/fast/product.hpp"

namespace abh {
// [skinny]
/// Whether `skinny_matmul` is best for a product of whole matrices. It is if `a` has few rows and
/// is not transposed, and `b` is not small.
bool is_skinny(const Product& product);
/// Reads `b` from memory once, and gives the same bits for any number of threads.
void skinny_matmul(const Product& product);

}  // namespace abh
