#pragma once

// Tests that hold the device against the processor. They are tagged [cuda]: cmake/Chapter.cmake
// runs those on the device alone, and where there is none they are skipped.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "lib/cuda/bf16.cuh"
#include "lib/fast/fewer_bits.hpp"
#include "tests/support.hpp"

/// What `f` returns on the processor and on the device.
template <class F>
auto on_both(const F& f) {
    const auto expected = [&] {
        const abh::ScopedWay processor(abh::Way::fast);
        return f();
    }();
    const auto actual = [&] {
        const abh::ScopedWay device(abh::Way::cuda);
        return f();
    }();
    return std::pair(expected, actual);
}

/// Requires that `step` moves nothing between the two memories once all is on the device.
template <class F>
void require_stays(const F& step) {
    const abh::ScopedWay device(abh::Way::cuda);
    step();
    const abh::Transfers before = abh::transfers();
    step();
    REQUIRE(abh::transfers().to_host == before.to_host);
    REQUIRE(abh::transfers().to_device == before.to_device);
}

/// Requires that a backward pass runs where its forward pass ran, whatever way is set by then: it
/// moves nothing between the two memories, and leaves the way as it was.
/// @param forward   returns a cache
/// @param backward  takes it
template <class Forward, class Backward>
void require_backward_stays(const Forward& forward, const Backward& backward) {
    using abh::ScopedWay, abh::Way;
    for (const auto& [first, then] :
         {std::pair{Way::cuda, Way::plain}, std::pair{Way::plain, Way::cuda}}) {
        const auto cache = [&, way = first] {
            const ScopedWay scoped(way);
            auto filled = forward();
            backward(filled);  // from here on all is where this way needs it
            return filled;
        }();
        const ScopedWay scoped(then);
        const abh::Transfers before = abh::transfers();
        backward(cache);
        REQUIRE(abh::transfers().to_host == before.to_host);
        REQUIRE(abh::transfers().to_device == before.to_device);
        REQUIRE(abh::way() == then);
    }
}

/// The elements of `x` as products in bf16 read them on the device or, with the way `fast`, on the
/// processor.
inline abh::Tensor as_read_in_bf16(const abh::Tensor& x) {
    std::vector<abh::Half> halves(static_cast<std::size_t>(x.size()));
    if (abh::on_cuda())
        abh::cuda::device().copy_bytes(halves.data(), abh::cuda::in_bf16(x).get(),
                                       halves.size() * sizeof(abh::Half));
    else
        std::copy_n(abh::in_bf16(x).get(), x.size(), halves.begin());
    abh::Tensor y(x.shape());
    std::ranges::transform(halves, y.data(),
                           [](std::uint32_t half) { return std::bit_cast<float>(half << 16); });
    return y;
}

/// A tensor of integers from -8 to 8, which TF32 and bf16 hold exactly, like their products' sums.
inline abh::Tensor random_integers(const abh::Shape& shape) {
    abh::Tensor x = random_tensor(shape);
    for (abh::Real& v : x.values()) v = std::round(std::clamp<abh::Real>(4 * v, -8, 8));
    return x;
}

/// Whether `b` is `a` up to round-off: within `epsilons` times the machine's epsilon times the
/// largest element, or that many epsilons where all are small.
inline bool near(const abh::Tensor& a, const abh::Tensor& b, double epsilons) {
    if (a.shape() != b.shape()) return false;
    double largest = 1;
    for (abh::Real v : a.values()) largest = std::max(largest, std::abs(static_cast<double>(v)));
    constexpr double epsilon = std::numeric_limits<abh::Real>::epsilon();
    return abh::max_difference(a, b) <= epsilons * epsilon * largest;
}
