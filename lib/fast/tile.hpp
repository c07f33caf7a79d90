#pragma once

#include "lib/fast/small_matmul.hpp"

namespace abh {
// [tile]
/// `height` rows and `width` times `lanes` columns of `c`, which stay in registers meanwhile.
template <int height, int width>
inline void tile(Real* c, Index width_c, Strided a, const Real* b, Index width_b, Index k,
                 bool add) {
    Lanes sum[height][width];
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) sum[i][j].setZero();
    for (int i = 0; i < height; ++i)  // what will be written when all is summed
        for (Index j = 0; j < width * lanes; j += numbers_in_a_line)
            __builtin_prefetch(c + i * width_c + j, 1);
#pragma GCC unroll 8
    for (Index p = 0; p < k; ++p) {
        const Real* const column = a.data + p * a.column;
        const Real* const row = b + p * width_b;
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

}  // namespace abh
