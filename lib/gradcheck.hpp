#pragma once

#include <functional>
#include <string>

#include "lib/parameter.hpp"
#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [interface]
/// How far an analytic gradient is from central differences, at its worst element.
struct GradientError {
    double relative = 0;  ///< |analytic - numeric| / max(|analytic|, |numeric|, floor)
    double analytic = 0;
    double numeric = 0;
    Index element = -1;  ///< position in memory order
    Index checked = 0;   ///< how many elements were compared
};

/// `relative 3.1e-09 at element 17 (analytic 0.25, numeric 0.25)`
std::string to_string(const GradientError& error);

/// Compares `dx` with central differences of the scalar loss `<forward(), cotangent>`.
///
/// Each element of `x` is moved by +-`step` in place and put back, so `forward` must read `x` (or a
/// tensor that shares its memory) and give the same result for the same values. The floor of the
/// relative error is a thousandth of the largest gradient element, and at least a million times the
/// round-off of one difference, so that a gradient of zero passes a bound of 1e-6. Meant for
/// `Real = double`.
///
/// @param forward    computes the output again, from the current values
/// @param x          the tensor whose gradient is checked: an input, or a parameter's value
/// @param dx         the analytic gradient, shape of `x`
/// @param cotangent  the gradient of the loss with respect to the output; draw it at random
/// @param step       half the distance between the two evaluations
/// @param other_steps  if an element is off by more than 1e-7, also try steps ten times smaller and
///                   larger, and take the closest: a kink, such as that of max(x, 0) at 0, or
///                   round-off spoils one difference, but a wrong gradient is far from all three
GradientError check_gradient(const std::function<Tensor()>& forward, Tensor x, const Tensor& dx,
                             const Tensor& cotangent, double step = 1e-5, bool other_steps = false);

}  // namespace abh
