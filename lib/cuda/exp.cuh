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

/// The same for what is rounded to bf16: a product and one instruction in place of ten. Their
/// relative errors are some |x| 2^-24 and 2^-22. Below the normal numbers it is 0 by itself.
__device__ inline float quick_exp(Real x) {
    const float twos = static_cast<float>(x) * 1.44269504f;  // 1 / ln 2
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(twos));
    return y;
#else
    const float y = exp2f(twos);
    return y < std::numeric_limits<float>::min() ? 0 : y;
#endif
}

/// Where a running maximum starts: below every score, but finite, so that differences are numbers.
constexpr Real lowest = std::numeric_limits<Real>::lowest();

}  // namespace abh::cuda
