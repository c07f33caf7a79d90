#pragma once

// Tests that hold the device against the processor. They are tagged [cuda]: cmake/Chapter.cmake
// runs those on the device alone, and where there is none they are skipped.
#include <utility>

#include "lib/cuda/device.hpp"
#include "tests/support.hpp"

/// What `f` returns on the processor and on the device.
template <class F>
auto on_both(const F& f) {
    const auto expected = [&] {
        const abh::Following processor(abh::Way::fast);
        return f();
    }();
    const auto actual = [&] {
        const abh::Following device(abh::Way::cuda);
        return f();
    }();
    return std::pair(expected, actual);
}

/// Whether `b` is `a` but for round-off: within `epsilons` times the machine's epsilon times the
/// largest element, or that many epsilons where all are small.
inline bool near(const abh::Tensor& a, const abh::Tensor& b, double epsilons) {
    if (a.shape() != b.shape()) return false;
    double largest = 1;
    for (abh::Real v : a.values()) largest = std::max(largest, std::abs(static_cast<double>(v)));
    constexpr double epsilon = std::numeric_limits<abh::Real>::epsilon();
    return abh::max_difference(a, b) <= epsilons * epsilon * largest;
}
