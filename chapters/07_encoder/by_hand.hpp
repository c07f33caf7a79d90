#pragma once

#include "chapters/07_encoder/encoder.hpp"

namespace abh::example {
// [by hand]
inline const Tensor x_by_hand = Tensor({1, 2, 4}, {2, 0, 2, 0,    // 朋
                                                   0, 2, 0, 2});  // 友
/// The loss is four times the first number of 朋's result.
inline const Tensor dy_by_hand = Tensor({1, 2, 4}, {4, 0, 0, 0, 0, 0, 0, 0});

/// A layer small enough for pen and paper. Its queries are zero, so each word gets the mean of all
/// rows; feed-forward adds (0, 2, -2, 0) times the first number where that is positive.
inline EncoderLayer layer_by_hand(Random& random) {
    LayerOptions o = toy_layer();
    o.attention.d_model = 4;
    o.attention.n_heads = o.d_ff = 1;
    EncoderLayer layer(o, random);
    const Tensor identity({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
    layer.self_attn.w_q.weight.assign(Tensor::zeros({4, 4}));
    layer.self_attn.w_v.weight.assign(identity);
    layer.self_attn.w_o.weight.assign(identity);
    layer.ff.first.weight.assign(Tensor({1, 4}, {1, 0, 0, 0}));
    layer.ff.second.weight.assign(Tensor({4, 1}, {0, 2, -2, 0}));
    return layer;
}

}  // namespace abh::example
