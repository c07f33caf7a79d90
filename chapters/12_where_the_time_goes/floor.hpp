#pragma once

#include <string>
#include <vector>

#include "chapters/09_training/transformer.hpp"

namespace abh {
// [linear maps]
/// Some linear maps of one size in a model, and the rows that each of them sees.
struct LinearMaps {
    Index times, d_in, d_out;
    bool bias;
    Index n_rows;

    Index weights() const { return times * d_in * d_out; }
    Index multiply_adds() const { return n_rows * weights(); }
};

/// All linear maps of a model, for so many rows of the source and of the target. The maps that see
/// no row then have `n_rows` 0.
std::vector<LinearMaps> linear_maps(const TransformerOptions& options, Index src_rows,
                                    Index tgt_rows);
/// Number of all parameters, as `count_elements` of the model.
Index count_parameters(const TransformerOptions& options);
// [floor]
/// What a piece of work must do at least: multiply-adds of matrix products, and bytes of weights
/// that must come from memory. Of a step, activations do not count: a cache may hold them.
struct Floor {
    double multiply_adds = 0;
    double bytes_read = 0;
    double bytes_updated = 0;  ///< read and written in place; both ways count
    double bytes_passed = 0;   ///< of activations, where an operation is measured by itself

    double bytes() const { return bytes_read + bytes_updated + bytes_passed; }
};

/// Momentum keeps one number for each weight, Adam two.
enum class OptimizerKind { momentum, adam };

/// A step of training on sentences without pads. Forward reads each matrix; backward reads it once
/// more, for the gradient that goes on, and can update it then. So the gradient of a weight need
/// never stand in memory.
Floor training_floor(const TransformerOptions& options, Index sentences, Index src_words,
                     Index tgt_words, OptimizerKind kind);
/// Greedy decoding of `words` words a sentence with a key-value cache: the encoder and the maps of
/// its result once; all other weights once a word, for all sentences.
Floor decoding_floor(const TransformerOptions& options, Index sentences, Index src_words,
                     Index words);

}  // namespace abh
