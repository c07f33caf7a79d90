#pragma once

#include <algorithm>
#include <limits>

#include "lib/eigen.hpp"

namespace abh {
// [exp]
/// Sets `y_i = exp(x_i - shift)`, many at a time, and returns their sum. Requires `x_i <= shift`.
///
/// The true value is that for the difference rounded to `Real`. Where it is a normal number, `y_i`
/// has a relative error of at most `exp_error`. Where it is smaller, and perhaps where it is within
/// `exp_error` of the smallest normal number, `y_i` is exactly 0. Eigen's own function returns some
/// small number there instead.
///
/// @param y  may be `x`
inline Real exp_and_sum(const Real* x, Real shift, Real* y, Index n) {
    using Numbers = Eigen::Array<Real, Eigen::Dynamic, 1>;
    constexpr Real smallest = std::numeric_limits<Real>::min();
    constexpr Index some = 512;  // few enough to stay in the first cache until read again
    Real sum = 0;
    for (Index at = 0; at < n; at += some, x += some, y += some) {
        const Index count = std::min(some, n - at);
        Eigen::Map<Numbers> part(y, count);
        part = (Eigen::Map<const Numbers>(x, count) - shift).exp();
        for (Index i = 0; i < count; ++i) y[i] = y[i] < smallest ? 0 : y[i];
        sum += part.sum();
    }
    return sum;
}

/// Bound on the relative error of each result of `exp_and_sum`.
constexpr Real exp_error = 3 * std::numeric_limits<Real>::epsilon();

}  // namespace abh
