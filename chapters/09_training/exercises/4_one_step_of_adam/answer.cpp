// Exercise 09.4: one step of Adam.
#include <cmath>
#include <stdexcept>

#include "chapters/09_training/optimizer/optimizer.hpp"

namespace abh::mine {

/// One step for one parameter; its gradient stays as it is.
/// @param m, v  the running means of the gradient and of its square, with the parameter's shape
/// @param adam  its options, the learning rate, and the number of the step, counted from 1
void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    // solution
    const auto [b1, b2, eps, weight_decay] = adam.options;
    const Real t = static_cast<Real>(adam.step);
    const Real bias1 = 1 - std::pow(b1, t);
    const Real bias2 = 1 - std::pow(b2, t);
    const auto weights = w.value.values(), gradient = w.grad().values(), mean = m.values(),
               square = v.values();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const Real g = gradient[i];
        mean[i] = b1 * mean[i] + (1 - b1) * g;
        square[i] = b2 * square[i] + (1 - b2) * g * g;
        const Real m_hat = mean[i] / bias1;
        const Real v_hat = square[i] / bias2;
        weights[i] *= 1 - adam.learning_rate * weight_decay;
        weights[i] -= adam.learning_rate * m_hat / (std::sqrt(v_hat) + eps);
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
