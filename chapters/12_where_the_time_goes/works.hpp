#pragma once

#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/12_where_the_time_goes/floor.hpp"

namespace abh {
// [batch]
/// A batch to measure with: sentences of random words, all of the same length, without pads.
Batch random_batch(const TransformerOptions& options, Index sentences, Index src_length,
                   Index tgt_length, std::uint64_t seed);
// [steps]
/// A training step: a model, and the size of the batch that it is trained on.
struct Step {
    std::string key, name;  ///< for the results, for the table
    TransformerOptions options;
    Index sentences, src_words, tgt_words;
    OptimizerKind optimizer = OptimizerKind::adam;

    Floor floor() const {
        return training_floor(options, sentences, src_words, tgt_words, optimizer);
    }
    Batch batch(std::uint64_t seed) const {
        return random_batch(options, sentences, src_words, tgt_words, seed);
    }
};

/// The toy at its full size: two sentences, SGD with momentum.
Step toy_step();
/// d_model 256, 2 + 2 layers, 2,000 words per language: 16 sentences of 24 words, Adam.
Step small_step();
/// The base model of 2017 with 8,000 words per language: 32 sentences of 24 words, Adam.
Step base_step();

}  // namespace abh
