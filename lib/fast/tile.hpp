#pragma once

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "lib/fast/small_matmul.hpp"

namespace abh {
// [past caches]
/// Writes to memory past the caches, without reading first what was there.
/// @param to  a whole line, or more
inline void write_past_caches(Real* to, const Lanes& numbers) {
#ifdef __AVX__
    using Register = __m256i;
    const auto* const from = reinterpret_cast<const Register*>(numbers.data());
    for (std::size_t i = 0; i < sizeof(Lanes) / sizeof(Register); ++i)
        _mm256_stream_si256(reinterpret_cast<Register*>(to) + i, _mm256_loadu_si256(from + i));
#else
    LanesMap map(to);
    map = numbers;
#endif
}

/// After this other threads may be told that the numbers are there.
inline void end_writes_past_caches() {
#ifdef __AVX__
    _mm_sfence();
#endif
}
// [tile]
/// A product of `height` rows and `width` times `lanes` columns, which stay in registers meanwhile.
/// @param past_caches  whether to write without `add`, to whole lines, past the caches
template <int height, int width>
inline void tile(const Product& product, bool past_caches = false) {
    const auto [c, width_c, a, b, m, n, k, scale, add] = product;
    Lanes sum[height][width];
    for (int i = 0; i < height; ++i)
        for (int j = 0; j < width; ++j) sum[i][j].setZero();
    for (int i = 0; i < height; ++i)  // what will be written when all is summed
        for (Index j = 0; j < width * lanes && !past_caches; j += numbers_in_a_line)
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
            if (past_caches)
                write_past_caches(y.data(), sum[i][j]);
            else if (add)
                y += sum[i][j];
            else
                y = sum[i][j];
        }
}

}  // namespace abh
