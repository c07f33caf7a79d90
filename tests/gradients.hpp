#pragma once

// What each backward pass must do: agree with differences, add, and leave its cache as it is.
#include <string>
#include <vector>

#include "lib/gradcheck.hpp"
#include "tests/ways.hpp"

/// `tensors`, and behind them a copy of the gradient of every parameter.
template <class Layer>
std::vector<abh::Tensor> with_gradients(std::vector<abh::Tensor> tensors, Layer& layer) {
    for (const abh::NamedParameter& p : abh::parameters_of(layer))
        tensors.push_back(p.parameter->grad().clone());
    return tensors;
}

/// A tensor and its gradient.
struct Slope {
    std::string name;
    abh::Tensor x, dx;
};

/// `slopes`, and behind them those of the parameters.
template <class Layer>
std::vector<Slope> with_parameters(std::vector<Slope> slopes, Layer& layer) {
    for (const abh::NamedParameter& p : abh::parameters_of(layer))
        slopes.push_back({p.name, p.parameter->value, p.parameter->grad()});
    return slopes;
}

/// Requires in double precision that each gradient is that of central differences; 1e-6 is what
/// differences with a step of 1e-5 can prove.
template <class F>
void check_gradients(const F& forward, const abh::Tensor& dy, const std::vector<Slope>& slopes,
                     double step = 1e-5) {
    if (!in_double) return;
    // too many forward passes for an emulated device; the gradients are its own
    const abh::ScopedWay scoped(abh::way() == abh::Way::cuda ? abh::Way::fast : abh::way());
    for (const Slope& s : slopes) {
        const abh::GradientError error = abh::check_gradient(forward, s.x, s.dx, dy, step);
        INFO(s.name << ": " << abh::to_string(error));
        CHECK(error.checked == s.x.size());
        CHECK(error.relative < 1e-6);
    }
}

/// Requires that `backward`, which returns the inputs' gradients, returns the same bits each time
/// and adds the same to those of the parameters.
template <class Layer, class F>
void check_backward_twice(Layer& layer, const F& backward) {
    const abh::Parameters parameters = abh::parameters_of(layer);
    abh::zero_grad(parameters);
    std::vector<abh::Tensor> inputs;
    for (const abh::Tensor& t : backward()) inputs.push_back(t.clone());
    const std::vector<abh::Tensor> once = with_gradients({}, layer);
    check_same_bits(inputs, backward());
    for (std::size_t i = 0; i < once.size(); ++i) {
        INFO(parameters[i].name);
        CHECK(agree(once[i] + once[i], parameters[i].parameter->grad()));
    }
    abh::zero_grad(parameters);
    check_same_bits(inputs, backward());
    check_same_bits(once, with_gradients({}, layer));
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
