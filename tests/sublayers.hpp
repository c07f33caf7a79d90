#pragma once

// What the tests of sublayers and layers share.
#include <vector>

#include "chapters/06_feed_forward/layer_norm.hpp"
#include "lib/random.hpp"

/// Gamma and beta other than 1 and 0.
inline void bend(abh::LayerNorm& norm) {
    abh::Random random(21);
    const abh::Shape shape = norm.gamma.value.shape();
    norm.gamma.value = uniform(shape, abh::Real(0.5), abh::Real(1.5), random.stream());
    norm.beta.value = uniform(shape, -1, 1, random.stream());
}

/// `tensors`, and behind them a copy of the gradient of every parameter.
template <class Layer>
std::vector<abh::Tensor> with_gradients(std::vector<abh::Tensor> tensors, Layer& layer) {
    for (const abh::NamedParameter& p : abh::parameters_of(layer))
        tensors.push_back(p.parameter->grad().clone());
    return tensors;
}
