#pragma once

#include <algorithm>

#include "lib/eigen.hpp"

namespace abh {
// [lanes]
/// So many numbers are one or two vector registers of the widest processors.
constexpr Index lanes = 16;
using Lanes = Eigen::Array<Real, lanes, 1>;
using LanesMap = Eigen::Map<Lanes>;
using ConstLanesMap = Eigen::Map<const Lanes>;

constexpr Index numbers_in_a_line = 64 / sizeof(Real);  ///< what memory sends at once

/// Prefetches numbers that will be read soon: of many the first, the processor foresees the rest.
inline void prefetch(const Real* numbers, Index count) {
    for (Index i = 0; i < std::min<Index>(count, 4096); i += numbers_in_a_line)
        __builtin_prefetch(numbers + i);
}

}  // namespace abh
