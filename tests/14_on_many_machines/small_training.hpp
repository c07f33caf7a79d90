#pragma once

// A small model, batches for it, and options, with which ranks train.
#include <vector>

#include "chapters/09_training/loop/training.hpp"
#include "chapters/13_real_translation/data/token_batches.hpp"
#include "lib/way.hpp"
#include "tests/13_real_translation/pairs.hpp"
#include "tests/transformers.hpp"

inline abh::TransformerOptions small(abh::Real dropout = abh::Real(0.1)) {
    abh::TransformerOptions o = paper_like(abh::NormPlacement::post);
    o.layer.attention.d_model = 8;
    o.layer.attention.n_heads = 2;
    o.layer.add_norm.dropout = o.positions.dropout = dropout;
    o.src_words = o.tgt_words = 13;
    return o;
}

inline std::vector<abh::Batch> drawn_batches() {
    const std::vector<abh::IdPair> pairs = drawn_pairs(60, 9);
    std::vector<abh::Batch> batches;
    for (const auto& numbers : abh::token_batches(pairs, 70, 3, 1))
        batches.push_back(abh::make_batch(pairs, numbers, {}));
    if (abh::way() == abh::Way::cuda) batches.resize(6);  // the emulated device is slow
    return batches;
}

inline const abh::TrainingOptions adam{
    .optimizer = "adam", .learning_rate = abh::Real(1e-2), .smoothing = abh::Real(0.1)};
