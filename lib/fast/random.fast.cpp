#include "lib/fast/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [words]
namespace {

// GCC 12 makes twice as many instructions of the loops without AVX2's own.
#ifdef __AVX2__
using Lanes32 = __m256i;  ///< eight words

Lanes32 load(const std::uint32_t* words) {
    return _mm256_loadu_si256(reinterpret_cast<const Lanes32*>(words));
}

void store(std::uint32_t* words, Lanes32 x) {
    _mm256_storeu_si256(reinterpret_cast<Lanes32*>(words), x);
}

Lanes32 all(std::uint32_t word) {
    return _mm256_set1_epi32(static_cast<int>(word));
}

/// `low + 2^32 high = factor * x`. One instruction multiplies every other word.
void multiply(std::uint32_t factor, Lanes32 x, Lanes32& low, Lanes32& high) {
    const Lanes32 even = _mm256_mul_epu32(x, all(factor)),
                  odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), all(factor));
    low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0b10101010);
    high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0b10101010);
}
#else
using Lanes32 = std::uint32_t;

Lanes32 load(const std::uint32_t* words) {
    return *words;
}

void store(std::uint32_t* words, Lanes32 x) {
    *words = x;
}

Lanes32 all(std::uint32_t word) {
    return word;
}

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
        for (std::size_t w = 0; w < 4; ++w) x[w] = load(&c[w][l]);
        std::uint32_t key_0 = key[0], key_1 = key[1];
#pragma GCC unroll 10
        for (int round = 0; round < 10; ++round) {
            multiply(0xD2511F53, x[0], low_0, high_0);
            multiply(0xCD9E8D57, x[2], low_2, high_2);
            x[0] = high_2 ^ x[1] ^ all(key_0);
            x[1] = low_2;
            x[2] = high_0 ^ x[3] ^ all(key_1);
            x[3] = low_0;
            key_0 += 0x9E3779B9;
            key_1 += 0xBB67AE85;
        }
#pragma GCC unroll 4
        for (std::size_t w = 0; w < 4; ++w) store(&c[w][l], x[w]);
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
namespace {

/// Calls `f(position, four uniform numbers, count)` for every group of four elements of `n`.
template <class F>
void for_blocks(Index n, const Stream& stream, const F& f) {
    constexpr Index at_once = 1 << 10;
    parallel_ranges(n, at_once, [&](Index begin, Index end) {
        std::array<Real, at_once> numbers;
        fast::uniform_numbers(stream, static_cast<std::uint64_t>(begin / 4), numbers);
        for (Index i = begin; i < end; i += 4) {
            std::array<Real, 4> u;
            std::copy_n(numbers.begin() + (i - begin), 4, u.begin());
            f(i, u, std::min<Index>(4, end - i));
        }
    });
}

}  // namespace

Tensor uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    Tensor t(shape);
    Real* const numbers = t.data();
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (Index i = 0; i < count; ++i)
            numbers[at + i] = low + (high - low) * u[static_cast<std::size_t>(i)];
    });
    return t;
}

Tensor normal(const Shape& shape, const Stream& stream) {
    Tensor t(shape);
    Real* const numbers = t.data();
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (std::size_t pair = 0; pair < 4; pair += 2) {
            const Real radius = std::sqrt(-2 * std::log(1 - u[pair]));  // 1 - u is in (0, 1]
            const Real angle = 2 * std::numbers::pi_v<Real> * u[pair + 1];
            u[pair] = radius * std::cos(angle);
            u[pair + 1] = radius * std::sin(angle);
        }
        std::copy_n(u.begin(), count, numbers + at);
    });
    return t;
}

}  // namespace abh::fast
