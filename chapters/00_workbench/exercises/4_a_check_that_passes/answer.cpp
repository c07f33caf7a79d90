// Exercise 00.4: a gradient check that passes what is wrong.
#include <algorithm>
#include <cmath>
#include <functional>

#include "lib/random.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

/// @param forward   computes y from x
/// @param backward  computes dx, of the shape of x, from dy and x
/// @param at        where the gradient is checked
/// @param random    where random numbers come from: `normal(shape, random.stream())`
/// @return          whether each element of dx differs from its central difference by at most a
///                  millionth of the largest element of dx
bool passes(const std::function<Tensor(const Tensor& x)>& forward,
            const std::function<Tensor(const Tensor& dy, const Tensor& x)>& backward,
            const Tensor& at, Random& random) {
    Tensor x = at.clone();
    // solution
    const Tensor dy = normal(forward(x).shape(), random.stream());
    const Tensor dx = backward(dy, x);
    const Real delta = 1e-5;
    Real largest = 0, worst = 0;
    for (Index i = 0; i < x.size(); ++i) {
        Real& number = x.data()[i];
        const Real before = number, slope = dx.data()[i];
        number = before + delta;
        const Real right = dot(forward(x), dy);
        number = before - delta;
        const Real left = dot(forward(x), dy);
        number = before;
        const Real error = std::abs((right - left) / (2 * delta) - slope);
        if (std::isnan(error)) return false;
        worst = std::max(worst, error);
        largest = std::max(largest, std::abs(slope));
    }
    return worst <= Real(1e-6) * largest;
    // stub
    // const Tensor dy = Tensor::full(forward(x).shape(), 1);
    // const Tensor dx = backward(dy, x);
    // const Real delta = 1e-3, here = dot(forward(x), dy);
    // Real largest = 0, sum = 0;
    // for (Index i = 0; i < x.size(); ++i) {
    //     Real& number = x.data()[i];
    //     const Real before = number, slope = dx.data()[i];
    //     number = before + delta;
    //     const Real right = dot(forward(x), dy);
    //     number = before;
    //     sum += std::abs((right - here) / delta - slope);
    //     largest = std::max(largest, std::abs(slope));
    // }
    // const Real mean = sum / static_cast<Real>(x.size());
    // return !(mean > Real(1e-3) * largest);
    // end
}

}  // namespace abh::mine
