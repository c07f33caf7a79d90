#pragma once

#include <array>
#include <memory>
#include <span>

#include "lib/tensor.hpp"

namespace abh {
// [philox]
/// Philox 4x32-10: four random words from a 128-bit counter and a 64-bit key.
/// Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
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
/// Where all streams of a model are in its training.
struct RandomPlace {
    std::uint64_t step = 0;
    std::uint64_t part = 0;  ///< of the step
};

/// One numbered sequence of random numbers: element i is a pure function of (seed, stream id,
/// training step, its part, i), so it is the same on every device and for any number of threads.
class Stream {
public:
    /// @param place  read again each time numbers are drawn
    Stream(std::uint64_t seed, std::uint32_t id, std::shared_ptr<const RandomPlace> place)
        : seed_(seed), id_(id), place_(std::move(place)) {}

    /// The uniform numbers of elements 4 * block .. 4 * block + 3, in [0, 1), multiples of 2^-24.
    std::array<Real, 4> uniform4(std::uint64_t block) const;
    /// The uniform number of element `i`.
    Real uniform(Index i) const;

    std::uint64_t seed() const { return seed_; }
    std::uint32_t id() const { return id_; }
    std::uint64_t step() const { return place_->step; }
    /// The block that holds element 0. Parts are so far apart that no tensor reaches the next one.
    std::uint64_t first() const { return place_->part << 44; }

private:
    std::uint64_t seed_;
    std::uint32_t id_;
    std::shared_ptr<const RandomPlace> place_;
};
// [random]
/// The source of all randomness of a model. Each dropout and each parameter that starts at random
/// takes its own stream, in the order of construction; `next_step` moves all of them on by one
/// training step.
class Random {
public:
    explicit Random(std::uint64_t seed) : seed_(seed) {}

    Stream stream();
    void next_step() { *place_ = {place_->step + 1, 0}; }
    /// Moves all streams to a part of the step, 0, 1, ...
    /// @throws std::invalid_argument unless 0 <= part < 2^20
    void begin_part(Index part);
    std::uint64_t step() const { return place_->step; }
    std::uint64_t seed() const { return seed_; }
    /// Moves all streams to the beginning of a step.
    void go_to(std::uint64_t step) { *place_ = {step, 0}; }

private:
    std::uint64_t seed_;
    std::uint32_t next_id_ = 0;
    std::shared_ptr<RandomPlace> place_ = std::make_shared<RandomPlace>();
};
// [fill]
/// A fresh tensor of independent uniform numbers, low + (high - low) u with u in [0, 1).
Tensor uniform(const Shape& shape, Real low, Real high, const Stream& stream);
/// A fresh tensor of independent standard normal numbers (Box-Muller).
Tensor normal(const Shape& shape, const Stream& stream);
/// A fresh tensor of whole numbers, uniform in low..high-1.
/// @throws std::invalid_argument unless low < high
Ids random_ids(const Shape& shape, std::int32_t low, std::int32_t high, const Stream& stream);
/// Puts `numbers` into random order (Fisher-Yates).
void shuffle(std::span<Index> numbers, const Stream& stream);

}  // namespace abh
