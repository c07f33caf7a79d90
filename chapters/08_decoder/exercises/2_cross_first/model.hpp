#pragma once

#include "chapters/08_decoder/decoder.hpp"

namespace abh::judge {

inline DecoderLayer layer_of(Index d_model, bool pre, Index seed) {
    LayerOptions options;
    options.attention.d_model = d_model;
    options.attention.n_heads = 2;
    options.attention.bias_qkv = false;  // the gradient of a bias of the keys is 0
    options.d_ff = 5;
    options.add_norm.placement = pre ? NormPlacement::pre : NormPlacement::post;
    Random random(static_cast<std::uint64_t>(seed));
    DecoderLayer layer(options, random);
    for (const NamedParameter& p : parameters_of(layer)) {
        p.parameter->value = normal(p.parameter->value.shape(), random.stream());
        p.parameter->value *= Real(0.7);
    }
    return layer;
}

}  // namespace abh::judge
