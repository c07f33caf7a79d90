#pragma once

// Layers that the tests of encoder and decoder share.
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

/// Calls `f` with options of every kind, and for half of them with whether a stack is to be tried.
template <class F>
void for_small_layers(const F& f) {
    for (const auto placement : {abh::NormPlacement::post, abh::NormPlacement::pre})
        for (const bool bias : {false, true})
            for (const bool affine : {false, true})
                for (const abh::Real dropout : {abh::Real(0), abh::Real(0.3)})
                    f(small_layer(bias, affine, placement, dropout), bias == affine);
}

/// Large enough that matrix products are shared among threads.
inline abh::LayerOptions medium_layer() {
    abh::LayerOptions o = abh::toy_layer();
    o.attention.d_model = 64;
    o.attention.n_heads = 4;
    o.d_ff = 256;
    return o;
}
