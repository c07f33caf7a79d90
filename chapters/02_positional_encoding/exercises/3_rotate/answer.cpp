// Exercise 02.3: rotate instead of add.
#include <cmath>
#include <stdexcept>

#include "chapters/02_positional_encoding/positional_encoding.hpp"

namespace abh::mine {

/// Turns columns 2i and 2i + 1 of the row at position first + t by Rot((first + t) f_i), where f_i
/// is `sinusoid_frequency(i, d)`.
/// @param x      [B, L, d], d even
/// @param first  position of the first row, >= 0
/// @return       y, [B, L, d]
Tensor rotate(const Tensor& x, Index first) {
    Tensor y(x.shape());
    // solution
    for (Index b = 0; b < x.dim(0); ++b)
        for (Index t = 0; t < x.dim(1); ++t)
            for (Index i = 0; i < x.dim(2) / 2; ++i) {
                const double f = sinusoid_frequency(i, x.dim(2));
                const Real angle = static_cast<Real>(static_cast<double>(first + t) * f);
                const Real c = std::cos(angle), s = std::sin(angle);
                y(b, t, 2 * i) = c * x(b, t, 2 * i) + s * x(b, t, 2 * i + 1);
                y(b, t, 2 * i + 1) = c * x(b, t, 2 * i + 1) - s * x(b, t, 2 * i);
            }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return y;
}

/// @param dy     gradient of the loss with respect to `y`, [B, L, d]
/// @param first  position of the first row, as in the forward pass
/// @return       dx, [B, L, d]
Tensor rotate_backward(const Tensor& dy, Index first) {
    Tensor dx(dy.shape());
    // solution
    for (Index b = 0; b < dy.dim(0); ++b)
        for (Index t = 0; t < dy.dim(1); ++t)
            for (Index i = 0; i < dy.dim(2) / 2; ++i) {
                const double f = sinusoid_frequency(i, dy.dim(2));
                const Real angle = static_cast<Real>(static_cast<double>(first + t) * f);
                const Real c = std::cos(angle), s = -std::sin(angle);  // turned back
                dx(b, t, 2 * i) = c * dy(b, t, 2 * i) + s * dy(b, t, 2 * i + 1);
                dx(b, t, 2 * i + 1) = c * dy(b, t, 2 * i + 1) - s * dy(b, t, 2 * i);
            }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return dx;
}

}  // namespace abh::mine
