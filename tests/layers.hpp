#pragma once

// Layers that the tests of encoder and decoder share.
#include <algorithm>

#include "chapters/07_encoder/encoder.hpp"
#include "tests/gradients.hpp"

/// A small layer of odd sizes: width 6, three heads of width 2, seven hidden units.
inline abh::LayerOptions small_layer(bool bias = false, bool affine = false,
                                     abh::NormPlacement placement = abh::NormPlacement::post,
                                     abh::Real dropout = 0) {
    abh::LayerOptions o;
    o.attention.d_model = 6;
    o.attention.n_heads = 3;
    o.attention.bias_qkv = o.attention.bias_out = o.ff_bias = bias;
    o.d_ff = 7;
    o.add_norm.placement = placement;
    o.add_norm.norm.affine = affine;
    o.add_norm.dropout = o.add_norm.dropout_after_norm = dropout;
    return o;
}

/// Large enough that matrix products are shared among threads.
inline abh::LayerOptions medium_layer() {
    abh::LayerOptions o = abh::toy_layer();
    o.attention.d_model = 64;
    o.attention.n_heads = 4;
    o.d_ff = 256;
    return o;
}

inline abh::Ids ids_of(const abh::Shape& shape, std::initializer_list<int> values) {
    abh::Ids ids(shape);
    std::copy(values.begin(), values.end(), ids.data());
    return ids;
}
