#include "lib/gradcheck.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/eigen.hpp"

namespace abh {
// [floor]
namespace {

/// Below this gradient, errors are absolute: a thousandth of the largest element, and at least a
/// million times the error that ten roundings of the loss's terms put into one difference.
double smallest_told(const Tensor& dx, const Tensor& y, const Tensor& cotangent, double step) {
    require_shape(cotangent.shape(), y.shape(), "check_gradient", "cotangent");
    double largest = 0;
    for (Real g : dx.values()) largest = std::max(largest, std::abs(static_cast<double>(g)));
    const double terms =
        vector(y).cast<double>().cwiseProduct(vector(cotangent).cast<double>()).norm();
    const double round_off = 10 * std::numeric_limits<double>::epsilon() * terms / step;
    return std::max({1e-3 * largest, 1e6 * round_off, 1e-12});
}

}  // namespace
// [check]
// slope along e_i:  (loss(x + delta e_i) - loss(x - delta e_i)) / 2 delta
// where loss = <forward(), cotangent>
GradientError check_gradient(const std::function<Tensor()>& forward, Tensor x, const Tensor& dx,
                             const Tensor& cotangent, double step, bool other_steps) {
    require_shape(dx.shape(), x.shape(), "check_gradient", "dx");
    const double floor = smallest_told(dx, forward(), cotangent, step);
    const auto compare = [&](Index i, double delta) {
        const Real before = vector(x)(i);
        const Real right = before + static_cast<Real>(delta);
        const Real left = before - static_cast<Real>(delta);
        vector(x)(i) = right;
        const double loss_right = dot(forward(), cotangent);
        vector(x)(i) = left;
        const double loss_left = dot(forward(), cotangent);
        vector(x)(i) = before;
        const double numeric = (loss_right - loss_left) / static_cast<double>(right - left);
        const double analytic = static_cast<double>(vector(dx)(i));
        const double error =
            std::abs(analytic - numeric) / std::max({std::abs(analytic), std::abs(numeric), floor});
        return GradientError{error, analytic, numeric, i, i + 1};
    };
    GradientError worst;
    for (Index i = 0; i < x.size(); ++i) {
        GradientError error = compare(i, step);
        for (const double delta : {step / 10, step * 10})
            if (other_steps && error.relative > 1e-7)
                if (const GradientError other = compare(i, delta); other.relative < error.relative)
                    error = other;
        if (!(error.relative <= worst.relative) || i == 0)
            worst = error;  // NaN counts as the worst
        worst.checked = i + 1;
        if (std::isnan(worst.relative)) break;
    }
    return worst;
}
// [print]
std::string to_string(const GradientError& error) {
    return fmt::format("relative {:.1e} at element {} (analytic {:.9g}, numeric {:.9g})",
                       error.relative, error.element, error.analytic, error.numeric);
}

}  // namespace abh
