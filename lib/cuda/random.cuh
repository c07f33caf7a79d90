#pragma once

// Random numbers in kernels. Include it in *.cu only.
#include "lib/cuda/kernel.cuh"
#include "lib/random.hpp"

namespace abh::cuda {
// [philox on the device]
/// A stream in the form that a kernel gets. The seed is two words already: were it one number, the
/// compiler would make Philox's products of 32 bits products of 64.
struct StreamState {
    std::array<std::uint32_t, 2> seed;
    std::uint64_t first;
    std::uint32_t id, step;
};

constexpr std::uint32_t low_word(std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
}

inline StreamState state_of(const Stream& stream) {
    return {{low_word(stream.seed()), low_word(stream.seed() >> 32)},
            stream.first(),
            stream.id(),
            low_word(stream.step())};
}
/// The four words for elements 4 `block` to 4 `block` + 3 of a stream.
__device__ inline auto words_of(const StreamState& stream, Index block) {
    const std::uint64_t at = stream.first + static_cast<std::uint64_t>(block);
    return abh::philox({low_word(at), low_word(at >> 32), stream.id, stream.step}, stream.seed);
}

/// A word as a number in [0, 1).
__device__ inline Real number_of(std::uint32_t word) {
    return static_cast<Real>(word >> 8) * static_cast<Real>(0x1p-24);
}

}  // namespace abh::cuda
