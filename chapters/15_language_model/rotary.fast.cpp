#include "chapters/15_language_model/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [table]
namespace {

using Numbers = Eigen::Array<Real, Eigen::Dynamic, 1>;
using ConstNumbers = Eigen::Map<const Numbers>;

/// Cosines and sines: a row for each position from `first` on, a column for each pair.
struct Angles {
    Index first;
    Tensor cosines, sines;

    Angles(Index from, Index end, Index pairs, Real base, Real sign)
        : first(from), cosines({end - from, pairs}), sines(cosines.shape()) {
        Numbers frequencies(pairs);
        for (Index i = 0; i < pairs; ++i)
            frequencies(i) =
                std::pow(base, -2 * static_cast<Real>(i) / static_cast<Real>(2 * pairs));
        for (Index t = 0; t < end - from; ++t) {
            const Numbers angles = static_cast<Real>(from + t) * frequencies;
            matrix(cosines).row(t).array() = angles.cos().transpose();
            matrix(sines).row(t).array() = sign * angles.sin().transpose();
        }
    }
};
// [row]
/// Turns the pairs of all heads of a row; the first columns of two pairs are `step` apart.
template <int step>
void turn_row(const Real* x, Real* y, Index n_heads, const ConstNumbers& c, const ConstNumbers& s) {
    using Stride = Eigen::InnerStride<step>;
    const Index pairs = c.size(), partner = step == 1 ? pairs : 1;
    for (Index h = 0; h < n_heads; ++h, x += 2 * pairs, y += 2 * pairs) {
        const Eigen::Map<const Numbers, 0, Stride> a(x, pairs), b(x + partner, pairs);
        Eigen::Map<Numbers, 0, Stride>(y, pairs) = c * a - s * b;
        Eigen::Map<Numbers, 0, Stride>(y + partner, pairs) = s * a + c * b;
    }
}

}  // namespace
// [turn]
Tensor turn(const Tensor& x, Index n_heads, const RotaryOptions& options,
            const std::vector<Index>& positions, Real sign) {
    Tensor y(x.shape());
    if (y.size() == 0) return y;
    const Index length = x.dim(1), width = x.dim(2), pairs = width / n_heads / 2;
    const auto [least, most] = std::ranges::minmax(positions);
    const Angles angles(least, most + 1, pairs, options.base, sign);
    const auto turn_one = options.pairing == Pairing::halves ? turn_row<1> : turn_row<2>;
    parallel_ranges(x.dim(0) * length, 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const Index t = positions[static_cast<std::size_t>(r % length)] - angles.first;
            turn_one(x.data() + r * width, y.data() + r * width, n_heads,
                     ConstNumbers(&angles.cosines(t, 0), pairs),
                     ConstNumbers(&angles.sines(t, 0), pairs));
        }
    });
    return y;
}

}  // namespace abh::fast
