#include "lib/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(uniform) uniform;
decltype(normal) normal;
}  // namespace plain
namespace fast {
decltype(uniform) uniform;
decltype(normal) normal;
}  // namespace fast
// [stream]
std::array<Real, 4> Stream::uniform4(std::uint64_t block) const {
    // counter: element block (64 bits), stream (32), training step (32); key: seed (64)
    block += first();
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto words =
        philox({low(block), low(block >> 32), id_, low(step())}, {low(seed_), low(seed_ >> 32)});
    std::array<Real, 4> u;
    for (std::size_t w = 0; w < 4; ++w)
        u[w] = static_cast<Real>(words[w] >> 8) * static_cast<Real>(0x1p-24);
    return u;
}

Real Stream::uniform(Index i) const {
    return uniform4(static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}

Stream Random::stream() {
    return {seed_, next_id_++, place_};
}

void Random::begin_part(Index part) {
    require(part >= 0 && part < 1 << 20, "random: part {}, expected 0 to 2^20 - 1", part);
    place_->part = static_cast<std::uint64_t>(part);
}
// [fill]
Tensor uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    return Ways{"random numbers", plain::uniform, fast::uniform}(shape, low, high, stream);
}

Tensor plain::uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    Tensor t(shape);
    for (Index i = 0; i < t.size(); ++i) vector(t)(i) = low + (high - low) * stream.uniform(i);
    return t;
}

Tensor normal(const Shape& shape, const Stream& stream) {
    return Ways{"random numbers", plain::normal, fast::normal}(shape, stream);
}

/// Box-Muller: two uniform numbers give two normal ones.
Tensor plain::normal(const Shape& shape, const Stream& stream) {
    Tensor t(shape);
    for (Index i = 0; i < t.size(); ++i) {
        const Index pair = i - i % 2;
        const Real radius = std::sqrt(-2 * std::log(1 - stream.uniform(pair)));  // log of (0, 1]
        const Real angle = 2 * std::numbers::pi_v<Real> * stream.uniform(pair + 1);
        vector(t)(i) = radius * (i == pair ? std::cos(angle) : std::sin(angle));
    }
    return t;
}
// [fill: whole numbers]
Ids random_ids(const Shape& shape, std::int32_t low, std::int32_t high, const Stream& stream) {
    require(low < high, "random_ids: low {} and high {}, expected low < high", low, high);
    Ids t(shape);
    Index i = 0;
    for (std::int32_t& id : t.values())
        id = std::min(high - 1, low + static_cast<std::int32_t>(stream.uniform(i++) *
                                                                static_cast<Real>(high - low)));
    return t;
}

void shuffle(std::span<Index> numbers, const Stream& stream) {
    for (Index i = static_cast<Index>(numbers.size()) - 1; i > 0; --i) {
        const Real u = stream.uniform4(static_cast<std::uint64_t>(i))[0];
        const Index j = std::min(i, static_cast<Index>(u * static_cast<Real>(i + 1)));
        std::swap(numbers[static_cast<std::size_t>(i)], numbers[static_cast<std::size_t>(j)]);
    }
}

}  // namespace abh
