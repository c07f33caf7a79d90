#pragma once

#include <memory>

#include "lib/cuda/fragments.cuh"
#include "lib/precision.hpp"

namespace abh::cuda {
// [bf16]
/// A number in bf16, rounded to the nearest.
__device__ inline Half half_of(Real x) {
    return static_cast<Half>(rounded<Bf16>(static_cast<float>(x)) >> Bf16::lost_bits);
}

__device__ inline Real real_of(Half x) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(x) << Bf16::lost_bits);
}
__device__ inline Real real_of(Real x) {
    return x;
}

/// The elements of `x` in bf16, in the device's memory. As on the processor, they are kept beside
/// `x` until it is written, so an activation is rounded once for forward and backward.
std::shared_ptr<const Half> in_bf16(const Tensor& x);

/// Where a kernel writes the elements of `x` and, if they are kept in bf16, those, too: then they
/// stay kept, and no product has to round `x` again. Otherwise `halves` is null.
struct WithHalves {
    Real* numbers;
    Half* halves;
};
WithHalves to_write_with_halves(Tensor& x);

}  // namespace abh::cuda
