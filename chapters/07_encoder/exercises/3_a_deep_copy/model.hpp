#pragma once

#include "chapters/07_encoder/encoder.hpp"

namespace abh::judge {

inline LayerOptions options_of(Index d_model, bool pre) {
    LayerOptions options;
    options.attention = {.d_model = d_model, .n_heads = 2, .bias_qkv = false};
    options.d_ff = 5;
    options.add_norm.placement = pre ? NormPlacement::pre : NormPlacement::post;
    return options;
}

inline Encoder encoder_of(const LayerOptions& options, Index n_layers, Index seed) {
    Random random(static_cast<std::uint64_t>(seed));
    Encoder encoder(options, n_layers, random);
    for (const NamedParameter& p : parameters_of(encoder))
        p.parameter->value = normal(p.parameter->value.shape(), random.stream());
    return encoder;
}

}  // namespace abh::judge
