#include "lib/fast/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/fast/parallel.hpp"

namespace abh {
namespace fast {
decltype(uniform) uniform;
decltype(normal) normal;
}  // namespace fast
// [philox]
namespace {

/// Philox for several counters at a time, lane by lane: the compiler makes vectors of them.
template <std::size_t counters>
void philox_lanes(std::array<std::array<std::uint32_t, counters>, 4>& c,
                  std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        for (std::size_t l = 0; l < counters; ++l) {
            const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0][l];
            const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2][l];
            c[0][l] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][l] ^ key[0];
            c[1][l] = static_cast<std::uint32_t>(p1);
            c[2][l] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][l] ^ key[1];
            c[3][l] = static_cast<std::uint32_t>(p0);
        }
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
}

}  // namespace
// [uniform]
void fast::uniform_numbers(const Stream& stream, std::uint64_t block, std::span<Real> numbers) {
    constexpr std::size_t counters = 64;
    std::array<std::array<std::uint32_t, counters>, 4> words;
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

Tensor fast::uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    Tensor t(shape);
    Real* const numbers = t.data();
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (Index i = 0; i < count; ++i)
            numbers[at + i] = low + (high - low) * u[static_cast<std::size_t>(i)];
    });
    return t;
}

Tensor fast::normal(const Shape& shape, const Stream& stream) {
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

}  // namespace abh
