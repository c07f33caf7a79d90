#pragma once

#include <vector>

#include "chapters/09_training/model/transformer.hpp"

namespace abh {
// [linear maps]
/// The linear maps of one size in a part of a model, and the number of rows that each of them sees.
struct LinearMaps {
    Index times, d_in, d_out;
    bool bias;
    Index n_rows;

    Index weights() const { return times * d_in * d_out; }
    Index multiply_adds() const { return n_rows * weights(); }
};

/// All linear maps of a model, for so many source and target rows: `n_rows` 0 if a map sees none.
std::vector<LinearMaps> linear_maps(const TransformerOptions& options, Index src_rows,
                                    Index tgt_rows);
/// Number of parameters, the same as `count_elements` of the model.
Index count_parameters(const TransformerOptions& options);
// [floor]
/// The least that a piece of work must do: multiply-adds of matrix products, and bytes of weights
/// that must come from memory. In a step, activations do not count, because a cache may hold them.
struct Floor {
    double multiply_adds = 0;
    double bytes_read = 0;
    double bytes_updated = 0;  ///< read and written in place, so they count twice
    double bytes_passed = 0;   ///< of activations, if an operation is measured by itself
    double bytes_again = 0;    ///< of those read: what had been read before, in `again` more turns
    double again = 0;

    double bytes() const { return bytes_read + bytes_updated + bytes_passed; }
};

/// Momentum keeps one number for each weight, Adam two.
enum class OptimizerKind { momentum, adam };

/// A training step on sentences without pads. Forward reads each matrix. Backward reads it once
/// more for the gradient with respect to its input, and can update it then, so the gradient of a
/// weight need never be in memory.
Floor training_floor(const TransformerOptions& options, Index sentences, Index src_words,
                     Index tgt_words, OptimizerKind kind);
/// Greedy decoding of `words` words per sentence with a key-value cache. It reads the weights of
/// the encoder and of the maps of its result once, and all others once per word, for all sentences.
Floor decoding_floor(const TransformerOptions& options, Index sentences, Index src_words,
                     Index words);

}  // namespace abh
