#include "chapters/09_training/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "chapters/09_training/optimizer.cuh"
#include "lib/eigen.hpp"
#include "lib/profile.hpp"

namespace abh {
// [pieces]
namespace {

std::vector<Tensor> zeros_like(const Parameters& parameters) {
    std::vector<Tensor> zeros;
    for (const NamedParameter& p : parameters)
        zeros.push_back(Tensor::zeros(p.parameter->value.shape()));
    return zeros;
}

}  // namespace
// [sgd]
Sgd::Sgd(Parameters parameters, Real momentum)
    : Optimizer(std::move(parameters)), momentum_(momentum), velocity_(zeros_like(parameters_)) {
    require(momentum >= 0 && momentum < 1, "sgd: momentum {}, expected 0 <= momentum < 1",
            momentum);
}

void Sgd::step(Real learning_rate) {
    const Timed timed("optimizer");
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Parameter& p = *parameters_[i].parameter;
        if (on_cuda()) {
            cuda::sgd_step(p.value, velocity_[i], p.grad(), momentum_, learning_rate);
            continue;
        }
        const auto step = [&](Index begin, std::span<const Real> dw) {
            Real* const w = p.value.data() + begin;
            Real* const v = velocity_[i].data() + begin;
            for (std::size_t j = 0; j < dw.size(); ++j) {
                v[j] = momentum_ * v[j] + dw[j];
                w[j] -= learning_rate * v[j];
            }
        };
        const std::array touched{p.value, velocity_[i]};
        p.update({std::cref(step), touched});
    }
}
// [adam]
Adam::Adam(Parameters parameters, AdamOptions options)
    : Optimizer(std::move(parameters)),
      options_(options),
      mean_(zeros_like(parameters_)),
      square_(zeros_like(parameters_)) {
    require(options.weight_decay >= 0 && std::isfinite(options.weight_decay),
            "adam: weight decay {}, expected 0 or more", options.weight_decay);
}
// [adam: step]
void Adam::step(Real learning_rate) {
    const Timed timed("optimizer");
    ++steps_;
    const auto [b1, b2, eps, weight_decay] = options_;
    // lr * (m / bias1) / (sqrt(v / bias2) + eps), with one division an element
    const Real size = learning_rate / (1 - std::pow(b1, static_cast<Real>(steps_)));
    const Real root = 1 / std::sqrt(1 - std::pow(b2, static_cast<Real>(steps_)));
    const Real kept = 1 - learning_rate * weight_decay;  // of a weight; 1 without decay
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Parameter& p = *parameters_[i].parameter;
        if (on_cuda()) {
            cuda::adam_step(p.value, mean_[i], square_[i], p.grad(),
                            {b1, b2, eps, size, root, kept});
            continue;
        }
        const auto step = [&, b1 = b1, b2 = b2, eps = eps](Index begin,
                                                           std::span<const Real> part) {
            Real* const w = p.value.data() + begin;
            Real* const m = mean_[i].data() + begin;
            Real* const v = square_[i].data() + begin;
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
        const std::array touched{p.value, mean_[i], square_[i]};
        p.update({std::cref(step), touched});
    }
}
// [schedule]
Real learning_rate(Index step, Real peak, Index warmup) {
    require(step >= 1 && warmup >= 0, "learning rate: step {}, warm-up {}", step, warmup);
    if (warmup == 0) return peak;
    const Real ratio = static_cast<Real>(step) / static_cast<Real>(warmup);
    return peak * std::min(ratio, 1 / std::sqrt(ratio));
}

}  // namespace abh
