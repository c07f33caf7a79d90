#pragma once

// What each backward pass must do: agree with differences, add, and leave its cache as it is.
#include <string>
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

/// Requires that `backward`, which returns the inputs' gradients, returns the same bits each time
/// and adds the same to those of the parameters.
template <class F>
void check_backward_twice(const abh::Parameters& parameters, const F& backward) {
    abh::zero_grad(parameters);
    std::vector<abh::Tensor> inputs;
    for (const abh::Tensor& t : backward()) inputs.push_back(t.clone());
    const std::vector<abh::Tensor> once = with_gradients({}, parameters);
    check_same_bits(inputs, backward());
    for (std::size_t i = 0; i < once.size(); ++i) {
        INFO(parameters[i].name);
        CHECK(agree(once[i] + once[i], parameters[i].parameter->grad()));
    }
    abh::zero_grad(parameters);
    check_same_bits(inputs, backward());
    check_same_bits(once, with_gradients({}, parameters));
}

/// Requires of a trial that a way gives what plain gives, that a second backward pass gives the
/// same and adds up, and, in double precision, that each gradient is that of central differences.
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
    check_backward_twice(trial.parameters, [&] { return backward(first); });
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

/// Requires that a backward pass runs under the way of its forward pass, whatever is set by then.
/// @param forward  returns the backward pass, which returns all gradients
template <class F>
void check_follows(const F& forward) {
    for (const abh::Way kept : ways_here()) {
        const auto run = [&](abh::Way set) {
            const auto backward = [&] {
                const abh::ScopedWay scoped(kept);
                return forward();
            }();
            const abh::ScopedWay scoped(set);
            std::vector<abh::Tensor> found = backward();
            CHECK(abh::way() == set);
            return found;
        };
        const std::vector<abh::Tensor> expected = run(kept);
        for (const abh::Way set : ways_here()) {
            INFO("forward " << abh::to_string(kept) << ", then " << abh::to_string(set));
            check_same_bits(expected, run(set));
        }
    }
}
