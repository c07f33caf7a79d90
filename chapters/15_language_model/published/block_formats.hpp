#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chapters/15_language_model/published/blocks.hpp"
#include "lib/eigen.hpp"

namespace abh {
// [layouts]
/// The float of these bits in fp16. Without a branch, so that compilers make vectors of it:
/// exponents are 112 smaller in fp16, and a subnormal number lacks a leading 1, which is put before
/// it and subtracted again.
inline float from_fp16(std::uint16_t bits) {
    const std::int32_t size = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    const std::int32_t larger = (size < 0x400 ? 113 : size < 0x7c00 ? 112 : 224) << 23;
    const float leading = std::bit_cast<float>(size < 0x400 ? 113 << 23 : 0);
    const float number = std::bit_cast<float>((size << 13) + larger) - leading;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(number) | sign);
}

/// A number of 16 or 32 bits as it lies in a file, at any address.
template <class T>
struct Stored {
    using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
    std::uint8_t bytes[sizeof(T)];

    Bits bits() const {
        Bits found;
        std::memcpy(&found, bytes, sizeof found);
        return found;
    }
    float number() const {
        if constexpr (std::is_same_v<T, Eigen::half>)
            return from_fp16(bits());
        else  // a number in bf16 is the upper half of a float
            return std::bit_cast<float>(std::uint32_t{bits()} << (32 - 8 * sizeof(T)));
    }
    static Stored of(float number) { return std::bit_cast<Stored>(static_cast<T>(number)); }
};

/// Number i is `q[i] * scale`.
struct Q8_0 {
    Stored<Eigen::half> scale;
    std::int8_t q[32];
};
/// Numbers i and i + 16 are `(q - 8) * scale` for the low and for the high half of `pairs[i]`.
struct Q4_0 {
    Stored<Eigen::half> scale;
    std::uint8_t pairs[16];
};
/// Numbers i and i + 16 are `q * scale + minimum`.
struct Q4_1 {
    Stored<Eigen::half> scale, minimum;
    std::uint8_t pairs[16];
};
/// How many numbers a block holds.
template <class Block>
constexpr Index numbers_in = sizeof(Block) > sizeof(float) ? 32 : 1;
// [of a kind]
/// Calls `f` with a null pointer to this kind's block.
template <class F>
decltype(auto) with_block(NumberKind kind, const F& f) {
    switch (kind) {
        case NumberKind::f32:
            return f(static_cast<const Stored<float>*>(nullptr));
        case NumberKind::f16:
            return f(static_cast<const Stored<Eigen::half>*>(nullptr));
        case NumberKind::bf16:
            return f(static_cast<const Stored<Eigen::bfloat16>*>(nullptr));
        case NumberKind::q8_0:
            return f(static_cast<const Q8_0*>(nullptr));
        case NumberKind::q4_0:
            return f(static_cast<const Q4_0*>(nullptr));
        case NumberKind::q4_1:
            break;
    }
    return f(static_cast<const Q4_1*>(nullptr));
}

}  // namespace abh
