#include "chapters/15_language_model/rotary.hpp"

#include <cmath>
#include <vector>

#include "lib/way.hpp"

namespace abh {
namespace plain {
/// Turns the pairs of every head, back if `sign` is -1. @param positions  of each row of a sentence
Tensor turn(const Tensor& x, Index n_heads, const RotaryOptions& options,
            const std::vector<Index>& positions, Real sign);
}  // namespace plain
namespace fast {
decltype(plain::turn) turn;
}
// [turn]
namespace {

/// The position of each row of one sentence, or of all packed ones.
std::vector<Index> positions_of(const Tensor& x, Index first, const Packing& packing) {
    std::vector<Index> positions;
    if (packing.empty())
        for (Index t = 0; t < x.dim(1); ++t) positions.push_back(first + t);
    for (Index b = 0; b < packing.sentences(); ++b)
        for (Index t = 0; t < packing.count(b); ++t) positions.push_back(first + t);
    return positions;
}

// [turn: a pair]
/// Turns two columns of row `t` by an angle, in each sentence.
void turn_pair(const Tensor& x, Tensor& y, Index t, Index first, Index second, Real angle) {
    const Real c = std::cos(angle), s = std::sin(angle);
    for (Index b = 0; b < x.dim(0); ++b) {
        y(b, t, first) = c * x(b, t, first) - s * x(b, t, second);
        y(b, t, second) = s * x(b, t, first) + c * x(b, t, second);
    }
}
// [turn: all pairs]
}  // namespace

Tensor plain::turn(const Tensor& x, Index n_heads, const RotaryOptions& options,
                   const std::vector<Index>& positions, Real sign) {
    const Index d = x.dim(2) / n_heads, pairs = d / 2;
    const Index step = options.pairing == Pairing::halves ? 1 : 2,
                partner = options.pairing == Pairing::halves ? pairs : 1;
    Tensor y(x.shape());
    for (Index i = 0; i < pairs; ++i) {
        const Real frequency =
            std::pow(options.base, -2 * static_cast<Real>(i) / static_cast<Real>(d));
        for (Index t = 0; const Index position : positions) {
            const Real angle = sign * static_cast<Real>(position) * frequency;
            for (Index h = 0; h < n_heads; ++h) {
                // [turn: its columns]
                const Index first = h * d + i * step, second = first + partner;
                // [turn: its result]
                turn_pair(x, y, t, first, second, angle);
            }
            ++t;
        }
    }
    return y;
}

// [operation]
namespace {

Tensor turn(const Tensor& x, Index n_heads, const RotaryOptions& options,
            const std::vector<Index>& positions, Real sign) {
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % (2 * n_heads) == 0,
            "rotary: shape {} for {} heads, expected [B, L, heads * an even number]", x.shape(),
            n_heads);
    require(options.base > 0 && std::isfinite(options.base), "rotary: base {}, expected > 0",
            options.base);
    require(std::ssize(positions) == x.dim(1), "rotary: shape {} for {} rows of packed sentences",
            x.shape(), positions.size());
    return Ways{"rotary", plain::turn, fast::turn}(x, n_heads, options, positions, sign);
}

}  // namespace
// [rotate]
Tensor rotate(const Tensor& x, Index n_heads, const RotaryOptions& options, Index first,
              const Packing& packing) {
    return turn(x, n_heads, options, positions_of(x, first, packing), 1);
}
// [rotate: backward]
// forward was:  each pair, turned by an angle
// hence:        each pair of dy, turned by the opposite angle, because the transpose of a rotation
//               is its inverse
Tensor rotate_backward(const Tensor& dy, Index n_heads, const RotaryOptions& options, Index first,
                       const Packing& packing) {
    return turn(dy, n_heads, options, positions_of(dy, first, packing), -1);
}

}  // namespace abh
