#pragma once

#include "lib/fast/lanes.hpp"
#include "lib/fast/product.hpp"

namespace abh {
// [small product]
/// What `small_matmul` computes at once, at most: so many rows, and so many times `lanes` columns.
#ifdef __AVX512F__  // 32 registers of 16 numbers; elsewhere 16 of 8, and `lanes` takes two
constexpr int tile_height = 6, tile_width = 4;
#else
constexpr int tile_height = 6, tile_width = 1;
#endif

/// A product without scale of matrices that a core's cache holds; on the calling thread. Each
/// number of `a` multiplies a row of `b`, so `a` may be transposed at no cost; `b` may not, and has
/// a multiple of `lanes` columns.
void small_matmul(const Product& product);

}  // namespace abh
