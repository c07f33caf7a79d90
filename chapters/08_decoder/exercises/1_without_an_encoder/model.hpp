#pragma once

#include "chapters/01_embedding/embedding.hpp"
#include "chapters/02_positional_encoding/positional_encoding.hpp"
#include "chapters/07_encoder/encoder.hpp"

namespace abh::judge {

constexpr Index d_model = 6;

inline LayerOptions options_of(bool pre) {
    LayerOptions options;
    options.attention.d_model = d_model;
    options.attention.n_heads = 3;
    options.d_ff = 7;
    options.add_norm.placement = pre ? NormPlacement::pre : NormPlacement::post;
    return options;
}

/// The parts of a language model, drawn in this order.
struct Parts {
    Random random;
    Embedding words_of;
    PositionalEncoding positions;
    Encoder stack;
    Linear output;

    Parts(Index n_words, Index n_layers, bool pre, Index seed)
        : random(static_cast<std::uint64_t>(seed)),
          words_of(n_words, d_model, {}, random),
          positions(d_model, {.max_len = 20}, random),
          stack(options_of(pre), n_layers, random),
          output(d_model, n_words, true, random) {}
};

}  // namespace abh::judge
