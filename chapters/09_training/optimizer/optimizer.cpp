#include "chapters/09_training/optimizer/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(sgd_step) sgd_step;
decltype(adam_step) adam_step;
}  // namespace plain
namespace fast {
decltype(sgd_step) sgd_step;
decltype(adam_step) adam_step;
}  // namespace fast
namespace cuda {
decltype(sgd_step) sgd_step;
decltype(adam_step) adam_step;
void sgd_steps(const Parameters& list, std::span<Tensor> v, Real momentum, Real learning_rate);
void adam_steps(const Parameters& list, std::span<Tensor> m, std::span<Tensor> v,
                const AdamStep& adam);
}  // namespace cuda
// [construct]
namespace {

std::vector<Tensor> zeros_like(const Parameters& parameters) {
    std::vector<Tensor> zeros;
    for (const NamedParameter& p : parameters)
        zeros.push_back(Tensor::zeros(p.parameter->value.shape()));
    return zeros;
}

}  // namespace

Sgd::Sgd(Parameters parameters, Real momentum)
    : Optimizer(std::move(parameters)), momentum_(momentum), velocity_(zeros_like(parameters_)) {
    require(momentum >= 0 && momentum < 1, "sgd: momentum {}, expected 0 <= momentum < 1",
            momentum);
}

Adam::Adam(Parameters parameters, AdamOptions options)
    : Optimizer(std::move(parameters)),
      options_(options),
      mean_(zeros_like(parameters_)),
      square_(zeros_like(parameters_)) {
    require(options.weight_decay >= 0 && std::isfinite(options.weight_decay),
            "adam: weight decay {}, expected 0 or more", options.weight_decay);
}
// [step]
void Optimizer::step(Real learning_rate) {
    begin_step();
    if (way() == Way::cuda) return move_all(learning_rate);
    for (std::size_t i = 0; i < parameters_.size(); ++i) move(i, learning_rate);
}
// [memory]
std::vector<NamedTensor> Optimizer::named(const std::string& what,
                                          const std::vector<Tensor>& tensors) const {
    std::vector<NamedTensor> list;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        list.push_back({join_name(what, parameters_[i].name), tensors[i]});
    return list;
}

std::vector<NamedTensor> Adam::memory() const {
    std::vector<NamedTensor> list = named("mean", mean_);
    for (NamedTensor& t : named("square", square_)) list.push_back(std::move(t));
    return list;
}
// [sgd]
void plain::sgd_step(Parameter& w, Tensor& velocity, Real momentum, Real learning_rate) {
    vector(velocity) = momentum * vector(velocity) + vector(w.grad());
    vector(w.value) -= learning_rate * vector(velocity);
}
// [adam]
void plain::adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    const auto [b1, b2, eps, weight_decay] = adam.options;
    const Real bias1 = 1 - std::pow(b1, static_cast<Real>(adam.step));
    const Real bias2 = 1 - std::pow(b2, static_cast<Real>(adam.step));
    const auto g = vector(w.grad()).array();
    auto mean = vector(m).array(), square = vector(v).array();
    mean = b1 * mean + (1 - b1) * g;
    square = b2 * square + (1 - b2) * g.square();
    vector(w.value) *= 1 - adam.learning_rate * weight_decay;
    vector(w.value).array() -=
        adam.learning_rate * (mean / bias1) / ((square / bias2).sqrt() + eps);
}
// [which way]
void sgd_step(Parameter& w, Tensor& v, Real momentum, Real learning_rate) {
    Ways{"sgd", plain::sgd_step, fast::sgd_step, cuda::sgd_step}(w, v, momentum, learning_rate);
}

void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    Ways{"adam", plain::adam_step, fast::adam_step, cuda::adam_step}(w, m, v, adam);
}

void Sgd::move(std::size_t i, Real learning_rate) {
    sgd_step(*parameters_[i].parameter, velocity_[i], momentum_, learning_rate);
}

void Adam::move(std::size_t i, Real learning_rate) {
    adam_step(*parameters_[i].parameter, mean_[i], square_[i], {options_, learning_rate, steps_});
}
// [lists]
void Sgd::move_all(Real learning_rate) {
    Ways{"sgd", cuda::sgd_steps}(parameters_, velocity_, momentum_, learning_rate);
}

void Adam::move_all(Real learning_rate) {
    const AdamStep adam{options_, learning_rate, steps_};
    Ways{"adam", cuda::adam_steps}(parameters_, mean_, square_, adam);
}
// [schedule]
Real learning_rate(Index step, Real peak, Index warmup) {
    require(step >= 1 && warmup >= 0,
            "learning rate: step {}, warm-up {}, expected at least 1 and 0", step, warmup);
    if (warmup == 0) return peak;
    const Real ratio = static_cast<Real>(step) / static_cast<Real>(warmup);
    return peak * std::min(ratio, 1 / std::sqrt(ratio));
}

}  // namespace abh
