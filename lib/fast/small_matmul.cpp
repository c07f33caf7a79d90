#include "lib/fast/small_matmul.hpp"

namespace abh {
// [small product]
namespace {

// The largest tile: so many rows, and so many times `lanes` columns.
#ifdef __AVX512F__  // 32 registers of 16 numbers; elsewhere 16 of 8, and `lanes` takes two
constexpr int tile_height = 8, tile_width = 2;
#else
constexpr int tile_height = 6, tile_width = 1;
#endif

/// `height` rows and `width` times `lanes` columns of `c`, which stay in registers meanwhile.
template <int height, int width>
void tile(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index k, bool add) {
    Lanes sum[height][width];
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) sum[i][j].setZero();
    for (Index p = 0; p < k; ++p) {
        const Real* const column = a.data + p * a.column;
        const Real* const row = b + p * width_b;
#pragma GCC unroll 8
        for (int i = 0; i < height; ++i)
#pragma GCC unroll 2
            for (int j = 0; j < width; ++j)
                sum[i][j] += column[i * a.row] * ConstLanesMap(row + j * lanes);
    }
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) {
            LanesMap y(c + i * width_c + j * lanes);
            if (add)
                y += sum[i][j];
            else
                y = sum[i][j];
        }
}

/// Multiplies m rows, at most `height`, with a tile of that height.
template <int height, int width>
void last_rows(Index m, Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index k,
               bool add) {
    if (m == height)
        tile<height, width>(c, width_c, a, b, width_b, k, add);
    else if constexpr (height > 1)
        last_rows<height - 1, width>(m, c, width_c, a, b, width_b, k, add);
}

template <int width>
void columns(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index k,
             bool add) {
    Index i = 0;
    for (; i + tile_height <= m; i += tile_height)
        tile<tile_height, width>(c + i * width_c, width_c, {a.data + i * a.row, a.row, a.column}, b,
                                 width_b, k, add);
    last_rows<tile_height - 1, width>(m - i, c + i * width_c, width_c,
                                      {a.data + i * a.row, a.row, a.column}, b, width_b, k, add);
}

}  // namespace

void small_matmul(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index n,
                  Index k, bool add) {
    Index j = 0;
    for (; j + tile_width * lanes <= n; j += tile_width * lanes)
        columns<tile_width>(c + j, width_c, a, b + j, width_b, m, k, add);
    for (; j < n; j += lanes) columns<1>(c + j, width_c, a, b + j, width_b, m, k, add);
}

}  // namespace abh
