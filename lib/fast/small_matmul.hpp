#pragma once

#include "lib/fast/lanes.hpp"
#include "lib/fast/product.hpp"

namespace abh {
// [small product]
/// The most that `small_matmul` computes at once: this many rows, and this many times `lanes`
/// columns.
#ifdef __AVX512F__  // 32 registers of 16 floats; with AVX2 16 of 8, and `lanes` takes two
constexpr int tile_height = 6, tile_width = 4;
#else
constexpr int tile_height = 6, tile_width = 1;
#endif

/// A product, without scale, of matrices that fit into a core's cache, on the calling thread. Each
/// number of `a` multiplies a row of `b`, so `a` may be transposed at no cost. But `b` may not be,
/// and the number of its columns must be a multiple of `lanes`.
void small_matmul(const Product& product);

}  // namespace abh
