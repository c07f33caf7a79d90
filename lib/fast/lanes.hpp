#pragma once

#include <algorithm>

#include "lib/eigen.hpp"

namespace abh {
// [lanes]
/// This many numbers fill one or two vector registers of the widest processors.
constexpr Index lanes = 16;
using Lanes = Eigen::Array<Real, lanes, 1>;
using LanesMap = Eigen::Map<Lanes>;
using ConstLanesMap = Eigen::Map<const Lanes>;

/// `n`, rounded up to a multiple of `lanes`.
constexpr Index whole_lanes(Index n) {
    return ceil_div(n, lanes) * lanes;
}

constexpr Index numbers_in_a_line =
    64 / sizeof(Real);  ///< in a cache line, which memory sends at once

/// Prefetches numbers that will be read soon: only the first of many, since the processor foresees
/// the rest.
inline void prefetch(const Real* numbers, Index count) {
    for (Index i = 0; i < std::min<Index>(count, 4096); i += numbers_in_a_line)
        __builtin_prefetch(numbers + i);
}

// [turn]
/// Transposes a square of `lanes` by `lanes` numbers, in smaller squares, each of whose rows fills
/// one vector register.
/// @param to, from          the first number
/// @param to_row, from_row  distance from one row to the next
inline void transpose_lanes(Real* to, Index to_row, const Real* from, Index from_row) {
    constexpr Index size = EIGEN_MAX_STATIC_ALIGN_BYTES / sizeof(Real);
    static_assert(size > 0 && lanes % size == 0);
    using Square = Eigen::Matrix<Real, size, size, Eigen::RowMajor>;
    using Stride = Eigen::OuterStride<>;
    for (Index i = 0; i < lanes; i += size)
        for (Index j = 0; j < lanes; j += size) {
            Square square =
                Eigen::Map<const Square, 0, Stride>(from + i * from_row + j, Stride(from_row));
            square.transposeInPlace();
            Eigen::Map<Square, 0, Stride>(to + j * to_row + i, Stride(to_row)) = square;
        }
}

}  // namespace abh
