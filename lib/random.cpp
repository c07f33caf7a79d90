#include "lib/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lib/parallel.hpp"

namespace abh {
// [philox]
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
        c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return c;
}
// [stream]
std::array<Real, 4> Stream::uniform4(std::uint64_t block) const {
    // counter: element block (64 bits), stream (32), training step (32); key: seed (64)
    const auto words =
        philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), id_,
                static_cast<std::uint32_t>(*step_)},
               {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    std::array<Real, 4> u;
    for (std::size_t i = 0; i < 4; ++i)
        u[i] = static_cast<Real>(words[i] >> 8) * static_cast<Real>(0x1p-24);
    return u;
}

Random::Random(std::uint64_t seed) : seed_(seed), step_(std::make_shared<std::uint64_t>(0)) {}

Stream Random::stream() {
    return {seed_, next_id_++, step_};
}
// [fill]
namespace {

/// Calls `f(position, four uniform numbers, count)` for every group of four elements of `n`.
template <class F>
void for_blocks(Index n, const Stream& stream, const F& f) {
    parallel_ranges((n + 3) / 4, 1 << 14, [&](Index begin, Index end) {
        for (Index block = begin; block < end; ++block)
            f(4 * block, stream.uniform4(static_cast<std::uint64_t>(block)),
              std::min<Index>(4, n - 4 * block));
    });
}

}  // namespace

Tensor uniform(const Shape& shape, Real low, Real high, const Stream& stream) {
    Tensor t(shape);
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (Index i = 0; i < count; ++i)
            t.data()[at + i] = low + (high - low) * u[static_cast<std::size_t>(i)];
    });
    return t;
}

Tensor normal(const Shape& shape, const Stream& stream) {
    Tensor t(shape);
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (std::size_t pair = 0; pair < 4; pair += 2) {
            const Real radius = std::sqrt(-2 * std::log(1 - u[pair]));  // 1 - u is in (0, 1]
            const Real angle = 2 * std::numbers::pi_v<Real> * u[pair + 1];
            u[pair] = radius * std::cos(angle);
            u[pair + 1] = radius * std::sin(angle);
        }
        std::copy_n(u.begin(), count, t.data() + at);
    });
    return t;
}
// [fill: whole numbers]
Ids random_ids(const Shape& shape, std::int32_t low, std::int32_t high, const Stream& stream) {
    require(low < high, "random_ids: no whole number from {} to {} - 1", low, high);
    Ids t(shape);
    for_blocks(t.size(), stream, [&](Index at, std::array<Real, 4> u, Index count) {
        for (Index i = 0; i < count; ++i)
            t.data()[at + i] =
                std::min(high - 1, low + static_cast<std::int32_t>(u[static_cast<std::size_t>(i)] *
                                                                   static_cast<Real>(high - low)));
    });
    return t;
}

std::vector<Index> permutation(Index n, const Stream& stream) {
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    for (Index i = n - 1; i > 0; --i) {
        const Real u = stream.uniform4(static_cast<std::uint64_t>(i))[0];
        const Index j = std::min(i, static_cast<Index>(u * static_cast<Real>(i + 1)));
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
    }
    return order;
}

}  // namespace abh
