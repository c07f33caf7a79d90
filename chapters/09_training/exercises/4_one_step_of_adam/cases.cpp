#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/09_training/optimizer/optimizer.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// The weight after the step: `decay * w - change(m, v)`, element by element.
Tensor moved(const Tensor& w, const Tensor& m, const Tensor& v, Real decay, const auto& change) {
    Tensor y = w.clone();
    for (std::size_t i = 0; i < y.values().size(); ++i)
        y.values()[i] = decay * w.values()[i] - change(m.values()[i], v.values()[i]);
    return y;
}

void add(Cases& cases, const char* criterion, const Tensor& w, const Tensor& g, const Tensor& m,
         const Tensor& v, Index step, Real rate, Real eps = Real(1e-8), Real decay = 0) {
    Parameter parameter(w.clone());
    parameter.grad() += g;
    Tensor m1 = m.clone(), v1 = v.clone();
    const AdamOptions o{.eps = eps, .weight_decay = decay};
    adam_step(parameter, m1, v1, {o, rate, step});
    const Real c1 = 1 - std::pow(o.beta1, static_cast<Real>(step)),
               c2 = 1 - std::pow(o.beta2, static_cast<Real>(step)), keep = 1 - rate * decay;
    const auto results = [&](const Tensor& weight) { return values(weight, m1, v1, g); };
    const auto wrong = [&](const auto& change, Real kept) {
        return results(moved(w, m1, v1, kept, change));
    };
    const auto right = [&](Real a, Real b) { return rate * (a / c1) / (std::sqrt(b / c2) + eps); };
    Parameter with_decay(w.clone());
    Tensor decayed = w.clone(), m2 = m.clone(), v2 = v.clone();
    decayed *= decay;
    with_decay.grad() += g + decayed;
    adam_step(with_decay, m2, v2, {{.eps = eps}, rate, step});
    const Values coupled = values(with_decay.value, m2, v2, g);
    cases.add(
        {.criterion = criterion,
         .call = "adam_step",
         .arguments = values(w, g, m, v, step, rate, eps, decay),
         .results = results(parameter.value),
         .about = fmt::format("w {}, step {}, learning rate {}, epsilon {}, weight decay {}",
                              w.shape(), step, rate, eps, decay),
         .names = {"w", "g", "m", "v", "step", "learning_rate", "eps", "weight_decay", "the weight",
                   "m after the step", "v after the step", "the gradient"},
         .constants = {{"1 - beta1^t", static_cast<double>(c1)},
                       {"1 - beta2^t", static_cast<double>(c2)}},
         .mistakes = {
             {"the means are not corrected for their start at zero",
              wrong([&](Real a, Real b) { return rate * a / (std::sqrt(b) + eps); }, keep)},
             {"epsilon is added under the root, but belongs outside it",
              wrong([&](Real a, Real b) { return rate * (a / c1) / std::sqrt(b / c2 + eps); },
                    keep)},
             {"the root of the mean of squares is missing",
              wrong([&](Real a, Real b) { return rate * (a / c1) / (b / c2 + eps); }, keep)},
             {"the weight moves along the gradient, so the loss grows",
              wrong([&](Real a, Real b) { return -right(a, b); }, keep)},
             {"the weight decay is missing", wrong(right, 1)},
             {"the decay was added to the gradient, but in AdamW it bypasses both means", coupled},
             {"the weight decay is not multiplied by the learning rate",
              wrong(right, 1 - decay)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Tensor zero = Tensor::zeros({3, 2});
    const auto normal = [&] { return cases.normal({3, 2}); };
    const auto squares = [&] { return cases.uniform({3, 2}, 0.1, 2); };
    const Tensor none = Tensor::zeros({1});
    add(cases, "the first step", Tensor({1}, {1}), Tensor({1}, {4}), none, none, 1, Real(0.1));
    add(cases, "the first step", normal(), normal(), zero, zero, 1, Real(0.01));
    add(cases, "the first step", normal(), normal(), zero, zero, 1, Real(0.01), Real(0.1));
    for (const Index step : {2, 7, 400})
        add(cases, "later steps", normal(), normal(), normal(), squares(), step, Real(0.02));
    add(cases, "later steps", normal(), normal(), normal(), squares(), 3, Real(1), Real(0.3));
    add(cases, "a gradient of zero", normal(), zero, zero, zero, 1, Real(0.1));
    for (const Index step : {1, 5})
        add(cases, "weight decay", normal(), normal(), step == 1 ? zero : normal(),
            step == 1 ? zero : squares(), step, Real(0.1), Real(1e-8), Real(0.3));
}
