#pragma once

// Tests that hold all ways of an operation against its plain one.
#include <cmath>
#include <vector>

#include "lib/device.hpp"
#include "lib/way.hpp"
#include "tests/support.hpp"

/// How far a way may be from plain, relative to the largest element: sums are taken in other
/// orders.
constexpr double way_bound = in_double ? 1e-12 : 1e-5;

/// The ways that this machine has: cuda, real or emulated, where this build has one.
inline std::vector<abh::Way> ways_here() {
    std::vector<abh::Way> ways{abh::Way::plain, abh::Way::fast};
    try {
        const abh::ScopedWay device(abh::Way::cuda);
        ways.push_back(abh::Way::cuda);
    } catch (const std::exception&) {
    }
    return ways;
}

/// Where the processor plays the device, fewer trials must do.
inline bool emulated() {
    return abh::on_cuda() && abh::cuda::device().emulated();
}

/// Whether all elements of `b` are within `bound` of those of `a`, relative to the largest of `a`,
/// or to 1 where all are smaller. NaN agrees with NaN.
inline bool agree(const abh::Tensor& a, const abh::Tensor& b, double bound = way_bound) {
    if (a.shape() != b.shape()) return false;
    double largest = 1;
    for (abh::Real v : a.values())
        if (std::isfinite(v)) largest = std::max(largest, std::abs(static_cast<double>(v)));
    for (abh::Index i = 0; i < a.size(); ++i) {
        const auto x = static_cast<double>(a.data()[i]), y = static_cast<double>(b.data()[i]);
        if (std::isnan(x) != std::isnan(y)) return false;
        if (!std::isnan(x) && x != y && !(std::abs(x - y) <= bound * largest)) return false;
    }
    return true;
}

/// Requires that each tensor agrees.
inline void check_agree(const std::vector<abh::Tensor>& expected,
                        const std::vector<abh::Tensor>& found, double bound = way_bound) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("way " << abh::to_string(abh::way()) << ", tensor " << i << " of shape "
                    << abh::to_string(expected[i].shape()));
        CHECK(agree(expected[i], found[i], bound));
    }
}

/// Requires that `f`, which returns some tensors (results and gradients), gives under the way that
/// is tested what it gives under plain. Every test runs under every way.
template <class F>
void same_in_every_way(const F& f, double bound = way_bound) {
    const std::vector<abh::Tensor> expected = [&] {
        const abh::ScopedWay plain(abh::Way::plain);
        return f();
    }();
    check_agree(expected, f(), bound);
}
