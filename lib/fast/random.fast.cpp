#include "lib/fast/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [philox]
namespace {

constexpr std::size_t counters = 64;  ///< side by side
using Words = std::array<std::uint32_t, counters>;

/// Philox for all counters at once.
void philox_side_by_side(std::array<Words, 4>& c, std::array<std::uint32_t, 2> key) {
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
        philox_side_by_side(words, {static_cast<std::uint32_t>(stream.seed()),
                                    static_cast<std::uint32_t>(stream.seed() >> 32)});
        for (std::size_t l = 0; l < counters; ++l)
            for (std::size_t w = 0; w < 4; ++w)
                u[4 * l + w] = static_cast<Real>(words[w][l] >> 8) * static_cast<Real>(0x1p-24);
        const std::span rest = numbers.subspan(at);
        std::copy_n(u.begin(), std::min(u.size(), rest.size()), rest.begin());
    }
}
// [fill]
constexpr Index at_once = 1 << 10;  // numbers that a thread draws at once

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
