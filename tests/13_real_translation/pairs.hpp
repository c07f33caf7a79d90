#pragma once

// A small model, and pairs of ids for it, that the tests of training share.
#include <vector>

#include "chapters/13_real_translation/practice/training_run.hpp"
#include "tests/support.hpp"

/// Twelve words in both vocabularies, at most 20 in a sentence.
inline abh::TransformerOptions tiny_model(abh::Real dropout, abh::Index d_model = 8) {
    abh::TransformerOptions o;
    o.src_words = o.tgt_words = 12;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.layer.attention.d_model = d_model;
    o.layer.attention.n_heads = 2;
    o.layer.d_ff = 2 * d_model;
    o.layer.add_norm.dropout = dropout;
    o.embedding = {.scale = true, .padding_id = 0};
    o.positions = {.kind = abh::Positions::sinusoid, .max_len = 20, .dropout = dropout};
    return o;
}

/// Sentences of 1 to 12 random words, 4 to 11.
inline std::vector<abh::IdPair> drawn_pairs(abh::Index n, std::uint64_t seed) {
    abh::Random random(seed);
    const abh::Ids lengths = abh::random_ids({n, 2}, 1, 13, random.stream()),
                   words = abh::random_ids({n, 24}, 4, 12, random.stream());
    std::vector<abh::IdPair> pairs;
    for (abh::Index i = 0; i < n; ++i) {
        const std::int32_t* const row = words.data() + 24 * i;
        pairs.push_back({{row, row + lengths(i, 0)}, {row + 12, row + 12 + lengths(i, 1)}});
    }
    return pairs;
}
