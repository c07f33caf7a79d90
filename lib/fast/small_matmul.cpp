#include "lib/fast/small_matmul.hpp"

#include "lib/fast/tile.hpp"

namespace abh {
// [small product]
namespace {

/// Multiplies the last rows, at most `height`, with a tile of their height.
template <int height, int width>
void last_rows(const Product& p) {
    if (p.m == height)
        tile<height, width>(p);
    else if constexpr (height > 1)
        last_rows<height - 1, width>(p);
}

/// All rows of `width` times `lanes` columns.
template <int width>
void some_columns(const Product& p) {
    Index i = 0;
    for (; i + tile_height <= p.m; i += tile_height)
        tile<tile_height, width>(p.block(i, 0, tile_height, p.n));
    last_rows<tile_height - 1, width>(p.block(i, 0, p.m - i, p.n));
}

/// All columns: as many as it can as widely as it can, the rest half as widely, and so on.
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
