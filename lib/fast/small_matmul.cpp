#include "lib/fast/lanes.hpp"
#include "lib/fast/product.hpp"

namespace abh {
// [tile]
namespace {

/// A product of `height` rows and `width` times `lanes` columns, whose sums stay in registers.
template <int height, int width>
void tile(const Product& product) {
    const auto [c, width_c, a, b, m, n, k, scale, add] = product;
    Lanes sum[height][width];
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) sum[i][j].setZero();
    for (int i = 0; i < height; ++i)  // `c` is written once everything is summed
        for (Index j = 0; j < width * lanes; j += numbers_in_a_line)
            __builtin_prefetch(c + i * width_c + j, 1);
#pragma GCC unroll 8
    for (Index p = 0; p < k; ++p) {
        const Real* const column = a.data + p * a.column;
        const Real* const row = b.data + p * b.row;
#pragma GCC unroll 6
        for (int i = 0; i < height; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < width; ++j)
                sum[i][j] += column[i * a.row] * ConstLanesMap(row + j * lanes);
    }
#pragma GCC unroll 6  // otherwise the sums would go through memory
    for (int i = 0; i < height; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < width; ++j) {
            LanesMap y(c + i * width_c + j * lanes);
            if (add)
                y += sum[i][j];
            else
                y = sum[i][j];
        }
}
// [small product]
/// Multiplies the last rows, of which there are at most `height`, in a tile as high as they are.
template <int height, int width>
void last_rows(const Product& p) {
    if (p.m == height)
        tile<height, width>(p);
    else if constexpr (height > 1)
        last_rows<height - 1, width>(p);
}

/// Computes all rows of `width` times `lanes` columns.
template <int width>
void some_columns(const Product& p) {
    Index i = 0;
    for (; i + tile_height <= p.m; i += tile_height)
        tile<tile_height, width>(p.block(i, 0, tile_height, p.n));
    last_rows<tile_height - 1, width>(p.block(i, 0, p.m - i, p.n));
}

/// Computes all columns: as many as possible at full width, the rest at half the width, and so on.
template <int width>
void columns(const Product& p) {
    Index j = 0;
    for (; j + width * lanes <= p.n; j += width * lanes)
        some_columns<width>(p.block(0, j, p.m, width * lanes));
    if constexpr (width > 1) columns<width / 2>(p.block(0, j, p.m, p.n - j));
}

}  // namespace

void small_matmul(const Product& product) {
    columns<tile_width>(product);
}

}  // namespace abh
