#pragma once

// Small Transformers that the tests of the whole model and of its checkpoints share.
#include <cmath>

#include "chapters/09_training/loop/task.hpp"
#include "tests/support.hpp"

/// Sums in another order through some layers: tens of roundings of numbers of order one.
constexpr double round_off = in_double ? 1e-12 : 2e-5;

/// The toy's options at the given sizes.
inline abh::TransformerOptions toy_like(abh::Index d_model = 6, abh::Index n_heads = 3,
                                        abh::Index d_ff = 7) {
    abh::TransformerOptions o = abh::TransformerOptions::toy();
    o.layer.attention.d_model = d_model;
    o.layer.attention.n_heads = n_heads;
    o.layer.d_ff = d_ff;
    o.n_encoder_layers = 2;
    o.n_decoder_layers = 2;
    o.positions.max_len = 20;
    return o;
}

/// Biases, affine norm, scaled embedding, padding row: the paper and the architecture article.
inline abh::TransformerOptions paper_like(abh::NormPlacement placement) {
    abh::TransformerOptions o = toy_like();
    o.layer.attention.bias_qkv = o.layer.attention.bias_out = o.layer.ff_bias = true;
    o.output_bias = true;
    o.layer.add_norm.norm.affine = true;
    o.layer.add_norm.placement = placement;
    o.layer.add_norm.dropout = abh::Real(0.1);
    o.embedding = {.scale = true, .padding_id = 0};
    o.n_encoder_layers = 1;  // as many as the decoder's or not
    return o;
}

/// The shared-head block, dropout after the norm.
inline abh::TransformerOptions shared_head_like() {
    abh::TransformerOptions o = toy_like();
    o.layer.attention.shared_head_projections = true;
    o.layer.attention.bias_out = o.layer.ff_bias = o.output_bias = true;
    o.layer.attention.attention = {.scale = 1 / std::sqrt(abh::Real(6)),
                                   .fill = abh::Real(-1e20),
                                   .fill_place = abh::FillPlace::before_scale};
    o.layer.add_norm.norm.affine = true;
    o.layer.add_norm.dropout_after_norm = abh::Real(0.15);
    o.positions = {.kind = abh::Positions::learned, .max_len = 9, .dropout = abh::Real(0.15)};
    o.mask_target_pads = false;
    o.n_decoder_layers = 1;
    return o;
}

/// One table for source, target and output, swish, sines before cosines, no mask of the target's
/// pads: as Marian's models are.
inline abh::TransformerOptions marian_like(abh::Tied tied = abh::Tied::all) {
    abh::TransformerOptions o = paper_like(abh::NormPlacement::post);
    o.src_words = o.tgt_words = 13;
    o.tied = tied;
    o.layer.activation = abh::Activation::swish;
    o.positions.kind = abh::Positions::sines_then_cosines;
    o.embedding.padding_id = -1;
    o.mask_target_pads = false;
    return o;
}

/// Two sentences, the second one shorter on both sides.
inline const abh::Ids& example_src() {
    static const abh::Ids ids({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0});
    return ids;
}
inline const abh::Ids& example_tgt() {
    static const abh::Ids ids({2, 4}, {9, 1, 2, 3, 9, 4, 0, 0});
    return ids;
}

/// A toy in small, without dropout.
inline abh::Task small_task() {
    abh::Task task = abh::toy_task();
    abh::TransformerOptions o = toy_like(16, 4, 24);
    o.positions.dropout = 0;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    task.model = o;
    task.training.epochs = 40;
    task.training.optimizer = "adam";
    task.training.learning_rate = abh::Real(1e-2);
    return task;
}
