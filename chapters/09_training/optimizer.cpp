#include "chapters/09_training/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "lib/eigen.hpp"
#include "lib/parallel.hpp"

namespace abh {
// [pieces]
namespace {

constexpr Index grain = 1 << 15;

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
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Tensor &w = parameters_[i].parameter->value, &g = parameters_[i].parameter->grad();
        Tensor& v = velocity_[i];
        parallel_ranges(w.size(), grain, [&](Index begin, Index end) {
            const Index n = end - begin;
            vector(v).segment(begin, n) *= momentum_;
            vector(v).segment(begin, n) += vector(g).segment(begin, n);
            vector(w).segment(begin, n) -= learning_rate * vector(v).segment(begin, n);
        });
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

void Adam::step(Real learning_rate) {
    ++steps_;
    const auto [b1, b2, eps, weight_decay] = options_;
    const Real bias1 = 1 - std::pow(b1, static_cast<Real>(steps_));
    const Real bias2 = 1 - std::pow(b2, static_cast<Real>(steps_));
    const Real kept = 1 - learning_rate * weight_decay;  // of a weight; 1 without decay
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Tensor &weights = parameters_[i].parameter->value, &g = parameters_[i].parameter->grad();
        const auto update = [&, b1 = b1, b2 = b2, eps = eps](Index begin, Index end) {
            const Index n = end - begin;
            auto w = vector(weights).segment(begin, n).array();
            auto m = vector(mean_[i]).segment(begin, n).array();
            auto v = vector(square_[i]).segment(begin, n).array();
            const auto dw = vector(g).segment(begin, n).array();
            m = b1 * m + (1 - b1) * dw;
            v = b2 * v + (1 - b2) * dw.square();
            w = kept * w - learning_rate * (m / bias1) / ((v / bias2).sqrt() + eps);
        };
        parallel_ranges(weights.size(), grain, update);
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
