#include "lib/small_matmul.hpp"

namespace abh {
// [small product]
namespace {

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

template <int width>
void columns(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index k,
             bool add) {
    constexpr int height = 6;
    Index i = 0;
    for (; i + height <= m; i += height)
        tile<height, width>(c + i * width_c, width_c, {a.data + i * a.row, a.row, a.column}, b,
                            width_b, k, add);
    for (; i < m; ++i)
        tile<1, width>(c + i * width_c, width_c, {a.data + i * a.row, a.row, a.column}, b, width_b,
                       k, add);
}

}  // namespace

void small_matmul(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index m, Index n,
                  Index k, bool add) {
#ifdef __AVX512F__  // 32 registers of 16 numbers; elsewhere 16 of 8, and `lanes` takes two
    constexpr int width = 2;
#else
    constexpr int width = 1;
#endif
    Index j = 0;
    for (; j + width * lanes <= n; j += width * lanes)
        columns<width>(c + j, width_c, a, b + j, width_b, m, k, add);
    for (; j < n; j += lanes) columns<1>(c + j, width_c, a, b + j, width_b, m, k, add);
}

}  // namespace abh
