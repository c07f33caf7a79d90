#include "lib/fast/small_matmul.hpp"

#include "lib/fast/tile.hpp"

namespace abh {
// [small product]
namespace {

/// Multiplies m rows, at most `height`, with a tile of that height.
template <int height, int width>
void last_rows(Index m, Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index k,
               bool add) {
    if (m == height)
        tile<height, width>(c, width_c, a, b, width_b, k, add);
    else if constexpr (height > 1)
        last_rows<height - 1, width>(m, c, width_c, a, b, width_b, k, add);
}

/// All rows of `width` times `lanes` columns.
template <int width>
void some_columns(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index k,
                  bool add) {
    Index i = 0;
    for (; i + tile_height <= m; i += tile_height)
        tile<tile_height, width>(c + i * width_c, width_c, a.from(i, 0), b, width_b, k, add);
    last_rows<tile_height - 1, width>(m - i, c + i * width_c, width_c, a.from(i, 0), b, width_b, k,
                                      add);
}

/// All columns: as many as it can as widely as it can, the rest half as widely, and so on.
template <int width>
void columns(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index n,
             Index k, bool add) {
    Index j = 0;
    for (; j + width * lanes <= n; j += width * lanes)
        some_columns<width>(c + j, width_c, a, b + j, width_b, m, k, add);
    if constexpr (width > 1)
        columns<width / 2>(c + j, width_c, a, b + j, width_b, m, n - j, k, add);
}

}  // namespace

void small_matmul(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index n,
                  Index k, bool add) {
    columns<tile_width>(c, width_c, a, b, width_b, m, n, k, add);
}

}  // namespace abh
