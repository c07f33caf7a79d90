// Exercise 15.1: turning back.
#include <cmath>
#include <stdexcept>

#include "chapters/15_language_model/rotary.hpp"

namespace abh::mine {

/// The gradient of `rotate`.
/// @param dy       gradient of the loss with respect to the result, [B, L, H * d]
/// @param n_heads  H, side by side in each row
/// @param options  the base, and which columns of a head turn together
/// @param first    the position of each sentence's first row
/// @param packing  if not empty, B is 1, and sentence s begins in row packing.begin(s)
/// @return         dx, of the same shape
Tensor rotate_backward(const Tensor& dy, Index n_heads, const RotaryOptions& options, Index first,
                       const Packing& packing) {
    Tensor dx(dy.shape());
    // solution
    const Index d = dy.dim(2) / n_heads;
    const bool halves = options.pairing == Pairing::halves;
    for (Index b = 0; b < dy.dim(0); ++b)
        for (Index row = 0, sentence = 0; row < dy.dim(1); ++row) {
            while (!packing.empty() && row == packing.begin(sentence + 1)) ++sentence;
            const Index t = first + row - (packing.empty() ? 0 : packing.begin(sentence));
            for (Index h = 0; h < n_heads; ++h)
                for (Index i = 0; i < d / 2; ++i) {
                    const double f = std::pow(options.base, -2.0 * static_cast<double>(i) / d);
                    const double angle = static_cast<double>(t) * f;
                    const Real c = std::cos(angle), s = std::sin(angle);
                    const Index p = h * d + (halves ? i : 2 * i), q = p + (halves ? d / 2 : 1);
                    dx(b, row, p) = c * dy(b, row, p) + s * dy(b, row, q);
                    dx(b, row, q) = c * dy(b, row, q) - s * dy(b, row, p);
                }
        }
    // stub
    // (void)n_heads, (void)options, (void)first, (void)packing;
    // throw std::logic_error("not written yet");
    // end
    return dx;
}

}  // namespace abh::mine
