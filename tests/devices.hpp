#pragma once

// Tests that hold the device against the processor. They are tagged [cuda]: cmake/Chapter.cmake
// runs those on the device alone, and where there is none they are skipped.
#include <exception>
#include <utility>

#include "lib/device.hpp"
#include "tests/support.hpp"

/// As the end of an object must: without an error, even if the device has failed.
inline void back_to(abh::Device device) noexcept {
    try {
        abh::set_device(device);
    } catch (const std::exception&) {
    }
}

/// Computes on the device while it lives, then where the test did before.
class OnDevice {
public:
    OnDevice() : before_(abh::device()) { abh::set_device(abh::Device::cuda); }
    ~OnDevice() { back_to(before_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

private:
    abh::Device before_;
};

/// Computes on the processor while it lives.
class OnProcessor {
public:
    OnProcessor() : before_(abh::device()) { abh::set_device(abh::Device::cpu); }
    ~OnProcessor() { back_to(before_); }
    OnProcessor(const OnProcessor&) = delete;
    OnProcessor& operator=(const OnProcessor&) = delete;

private:
    abh::Device before_;
};

/// What `f` returns on the processor and on the device.
template <class F>
auto on_both(const F& f) {
    const auto expected = [&] {
        const OnProcessor processor;
        return f();
    }();
    const auto actual = [&] {
        const OnDevice device;
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
