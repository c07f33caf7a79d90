#include "chapters/09_training/optimizer/optimizer.hpp"

#include <array>
#include <cmath>

#include "lib/fast/gradient.hpp"
#include "lib/fast/lanes.hpp"

namespace abh::fast {
// [sgd]
void sgd_step(Parameter& p, Tensor& velocity, Real momentum, Real learning_rate) {
    const auto step = [&](Index begin, std::span<const Real> dw) {
        Real* const w = p.value.data() + begin;
        Real* const v = velocity.data() + begin;
        for (std::size_t j = 0; j < dw.size(); ++j) {
            v[j] = momentum * v[j] + dw[j];
            w[j] -= learning_rate * v[j];
        }
    };
    const std::array touched{p.value, velocity};
    fast::update(p.gradient, {std::cref(step), touched});
}
// [adam]
void adam_step(Parameter& p, Tensor& mean, Tensor& square, const AdamStep& adam) {
    const AdamOptions& o = adam.options;
    const Real b1 = o.beta1, b2 = o.beta2, eps = o.eps;
    // lr * (m / bias1) / (sqrt(v / bias2) + eps), with one division per element
    const Real size = adam.learning_rate / (1 - std::pow(b1, static_cast<Real>(adam.step)));
    const Real root = 1 / std::sqrt(1 - std::pow(b2, static_cast<Real>(adam.step)));
    const Real kept = 1 - adam.learning_rate * o.weight_decay;  // of a weight; 1 without decay
    const auto step = [&](Index begin, std::span<const Real> part) {
        Real* const w = p.value.data() + begin;
        Real* const m = mean.data() + begin;
        Real* const v = square.data() + begin;
        const auto move = [&](auto some, Index j) {  // as many weights as `some` has numbers
            using Some = Eigen::Map<decltype(some)>;
            const Eigen::Map<const decltype(some)> dw(part.data() + j);
            Some w_j(w + j), m_j(m + j), v_j(v + j);
            m_j = b1 * m_j + (1 - b1) * dw;
            v_j = b2 * v_j + (1 - b2) * dw.square();
            w_j = kept * w_j - size * m_j / (root * v_j.sqrt() + eps);
        };
        const Index n = static_cast<Index>(part.size());
        Index j = 0;
        for (; j + lanes <= n; j += lanes) move(Lanes(), j);
        for (; j < n; ++j) move(Eigen::Array<Real, 1, 1>(), j);
    };
    const std::array touched{p.value, mean, square};
    fast::update(p.gradient, {std::cref(step), touched});
}

}  // namespace abh::fast
