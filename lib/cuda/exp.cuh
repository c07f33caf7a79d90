#pragma once

// The exponential for kernels. Include it in *.cu only.
#include <limits>

#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [exp on the device]
constexpr Real smallest = std::numeric_limits<Real>::min();  ///< of the normal numbers

/// exp(x), or 0 if that is below the normal numbers, as in `exp_and_sum`.
__device__ inline Real exp_or_zero(Real x) {
    const Real y = exp(x);
    return y < smallest ? Real(0) : y;
}

/// Where a running maximum starts: below every score, but finite, so that differences are numbers.
constexpr Real lowest = std::numeric_limits<Real>::lowest();

}  // namespace abh::cuda
