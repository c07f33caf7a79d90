#pragma once

#include "chapters/07_encoder/encoder.hpp"

namespace abh::judge {

/// A layer whose weights, also those of the norm, are drawn with standard deviation `size`.
inline EncoderLayer layer_of(Index d_model, Index n_heads, Index d_ff, double size, Index seed) {
    LayerOptions options;
    options.attention.d_model = d_model;
    options.attention.n_heads = n_heads;
    options.attention.bias_qkv = false;  // the gradient of a bias of the keys is 0
    options.d_ff = d_ff;
    Random random(static_cast<std::uint64_t>(seed));
    EncoderLayer layer(options, random);
    for (const NamedParameter& p : parameters_of(layer)) {
        p.parameter->value = normal(p.parameter->value.shape(), random.stream());
        p.parameter->value *= static_cast<Real>(size);
    }
    return layer;
}

}  // namespace abh::judge
