#pragma once

// What each backward pass must do: agree with differences, add, leave its cache as it is, and go
// the way of its forward pass.
#include <vector>

#include "lib/gradcheck.hpp"
#include "tests/proof/trial.hpp"
#include "tests/ways.hpp"

/// `tensors`, and behind them a copy of the gradient of every parameter.
inline std::vector<abh::Tensor> with_gradients(std::vector<abh::Tensor> tensors,
                                               const abh::Parameters& parameters) {
    for (const abh::NamedParameter& p : parameters) tensors.push_back(p.parameter->grad().clone());
    return tensors;
}
template <class Layer>
std::vector<abh::Tensor> with_gradients(std::vector<abh::Tensor> tensors, Layer& layer) {
    return with_gradients(std::move(tensors), abh::parameters_of(layer));
}

/// Requires that `backward`, which returns the inputs' gradients, returns the same bits each time,
/// whatever way is set after the forward pass, and adds the same to those of the parameters.
template <class F>
void check_backward(const abh::Parameters& parameters, const F& backward) {
    abh::zero_grad(parameters);
    std::vector<abh::Tensor> inputs;
    for (const abh::Tensor& t : backward()) inputs.push_back(t.clone());
    const std::vector<abh::Tensor> once = with_gradients({}, parameters);
    check_same_bits(inputs, backward());
    for (std::size_t i = 0; i < once.size(); ++i) {
        INFO(parameters[i].name);
        CHECK(agree(once[i] + once[i], parameters[i].parameter->grad()));
    }
    for (const abh::Way set : ways_here()) {
        INFO("forward " << abh::to_string(abh::way()) << ", then " << abh::to_string(set));
        const abh::ScopedWay scoped(set);
        abh::zero_grad(parameters);
        check_same_bits(inputs, backward());
        check_same_bits(once, with_gradients({}, parameters));
        CHECK(abh::way() == set);
    }
}

/// Requires of a trial what `check_backward` does, that each way gives what plain gives, and, in
/// double precision, that each gradient is that of central differences, which with a step of 1e-5
/// can prove 1e-6.
inline void check_trial(const abh::proof::Trial& trial, abh::Random random = abh::Random(10),
                        double bound = way_bound) {
    const abh::proof::Pass first = trial.forward();
    const abh::Tensor dy = abh::normal(first.y.shape(), random.stream());
    const auto backward = [&](const abh::proof::Pass& pass) {
        std::vector<abh::Tensor> inputs;
        for (const auto& [name, dx] : pass.backward(dy)) inputs.push_back(dx);
        return inputs;
    };
    const abh::Tensor before = dy.clone();
    check_backward(trial.parameters, [&] { return backward(first); });
    CHECK(same_bits(before, dy));
    same_in_every_way(
        [&] {
            abh::zero_grad(trial.parameters);
            const abh::proof::Pass pass = trial.forward();
            std::vector<abh::Tensor> found = backward(pass);
            found.push_back(pass.y);
            return with_gradients(found, trial.parameters);
        },
        bound);
    if (!in_double) return;
    const abh::proof::Differences found = abh::proof::differences(trial, random);
    INFO(found.name << ": " << abh::to_string(found.worst));
    CHECK(found.checked > 0);
    CHECK(found.worst.relative < 1e-6);
}

/// The same of a new trial.
inline void check_trial(const abh::proof::Maker& make, const abh::proof::Sizes& sizes = {}) {
    abh::Random random(9);
    check_trial(make(sizes, random), random);
}
