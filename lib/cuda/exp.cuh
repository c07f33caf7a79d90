#pragma once

// The exponential for kernels; to be included in *.cu only.
#include <limits>

#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [exp on the device]
constexpr Real smallest = std::numeric_limits<Real>::min();  ///< of the normal numbers

/// exp(x), and 0 where that is no normal number, as `exp_and_sum` has it.
__device__ inline Real exp_or_zero(Real x) {
    const Real y = exp(x);
    return y < smallest ? Real(0) : y;
}

/// Where a largest number begins: below every score, and finite, so that a difference is a number.
constexpr Real lowest = std::numeric_limits<Real>::lowest();

}  // namespace abh::cuda
