#include "lib/fast/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [words]
namespace {

// GCC 12 makes twice as many instructions of the loop without AVX2's own product.
#ifdef __AVX2__
using Lanes32 [[gnu::vector_size(32)]] = std::uint32_t;  ///< eight words

/// `low + 2^32 high = factor * x`. One instruction multiplies every other word.
void multiply(std::uint32_t factor, Lanes32 x, Lanes32& low, Lanes32& high) {
    const __m256i all = _mm256_set1_epi32(static_cast<int>(factor)),
                  x_even = reinterpret_cast<__m256i>(x), even = _mm256_mul_epu32(x_even, all),
                  odd = _mm256_mul_epu32(_mm256_srli_epi64(x_even, 32), all);
    low =
        reinterpret_cast<Lanes32>(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0b10101010));
    high =
        reinterpret_cast<Lanes32>(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0b10101010));
}
#else
using Lanes32 = std::uint32_t;

void multiply(std::uint32_t factor, Lanes32 x, Lanes32& low, Lanes32& high) {
    const std::uint64_t product = std::uint64_t{factor} * x;
    low = static_cast<std::uint32_t>(product);
    high = static_cast<std::uint32_t>(product >> 32);
}
#endif
// [philox]
constexpr std::size_t counters = 64;  ///< side by side
using Words = std::array<std::uint32_t, counters>;

/// Philox for all counters, lane by lane.
void philox_lanes(std::array<Words, 4>& c, std::array<std::uint32_t, 2> key) {
    for (std::size_t l = 0; l < counters; l += sizeof(Lanes32) / sizeof(std::uint32_t)) {
        Lanes32 x[4], low_0, high_0, low_2, high_2;
#pragma GCC unroll 4
        for (std::size_t w = 0; w < 4; ++w) std::memcpy(&x[w], &c[w][l], sizeof(Lanes32));
        std::uint32_t key_0 = key[0], key_1 = key[1];
#pragma GCC unroll 10
        for (int round = 0; round < 10; ++round) {
            multiply(0xD2511F53, x[0], low_0, high_0);
            multiply(0xCD9E8D57, x[2], low_2, high_2);
            x[0] = high_2 ^ x[1] ^ key_0;
            x[1] = low_2;
            x[2] = high_0 ^ x[3] ^ key_1;
            x[3] = low_0;
            key_0 += 0x9E3779B9;
            key_1 += 0xBB67AE85;
        }
#pragma GCC unroll 4
        for (std::size_t w = 0; w < 4; ++w) std::memcpy(&c[w][l], &x[w], sizeof(Lanes32));
    }
}

}  // namespace
// [uniform]
void uniform_numbers(const Stream& stream, std::uint64_t block, std::span<Real> numbers) {
    std::array<Words, 4> words;
    std::array<Real, 4 * counters> u;
    block += stream.first();
    for (std::size_t at = 0; at < numbers.size(); at += u.size(), block += counters) {
        for (std::size_t l = 0; l < counters; ++l) {
            words[0][l] = static_cast<std::uint32_t>(block + l);
            words[1][l] = static_cast<std::uint32_t>((block + l) >> 32);
        }
        words[2].fill(stream.id());
        words[3].fill(static_cast<std::uint32_t>(stream.step()));
        philox_lanes(words, {static_cast<std::uint32_t>(stream.seed()),
                             static_cast<std::uint32_t>(stream.seed() >> 32)});
        for (std::size_t l = 0; l < counters; ++l)
            for (std::size_t w = 0; w < 4; ++w)
                u[4 * l + w] = static_cast<Real>(words[w][l] >> 8) * static_cast<Real>(0x1p-24);
        const std::span rest = numbers.subspan(at);
        std::copy_n(u.begin(), std::min(u.size(), rest.size()), rest.begin());
    }
}
// [fill]
constexpr Index at_once = 1 << 10;  // numbers that a thread draws

Tensor uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    Tensor t(shape);
    Real* const numbers = t.data();
    parallel_ranges(t.size(), at_once, [&](Index begin, Index end) {
        const std::span part(numbers + begin, static_cast<std::size_t>(end - begin));
        uniform_numbers(stream, static_cast<std::uint64_t>(begin / 4), part);
        for (Real& u : part) u = low + (high - low) * u;
    });
    return t;
}

Tensor normal(const Shape& shape, const Stream& stream) {
    Tensor t(shape);
    Real* const numbers = t.data();
    parallel_ranges(t.size(), at_once, [&](Index begin, Index end) {
        std::array<Real, at_once> u;
        uniform_numbers(stream, static_cast<std::uint64_t>(begin / 4), u);
        for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); i += 2) {
            const Real radius = std::sqrt(-2 * std::log(1 - u[i]));  // 1 - u is in (0, 1]
            const Real angle = 2 * std::numbers::pi_v<Real> * u[i + 1];
            u[i] = radius * std::cos(angle);
            u[i + 1] = radius * std::sin(angle);
        }
        std::copy_n(u.begin(), end - begin, numbers + begin);
    });
    return t;
}

}  // namespace abh::fast
