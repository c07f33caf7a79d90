#pragma once

#include <filesystem>
#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/09_training/model/transformer.hpp"
#include "lib/io/safetensors.hpp"

namespace abh {
// [checkpoint]
/// A trained model, the words of its vocabularies, and a line that says how it was made, if the
/// file has one.
struct Checkpoint {
    Transformer model;
    Vocabulary source, target;
    std::string made;
};

/// The file that holds all this, for `save_safetensors`. Its tensors are the model's, not copies:
/// it can be made, and tried, before the model is trained.
TensorFile checkpoint_of(Transformer& model, const Corpus& corpus, const std::string& made = "");
// [weights]
/// Adds the weights to a file, under their names. Its tensors are the model's, not copies.
void put_weights(TensorFile& file, Transformer& model);
/// @throws std::invalid_argument naming a tensor of the model that is missing or has another shape
void require_weights(const TensorFile& file, Transformer& model);
/// Copies a file's weights into the model.
/// @throws std::invalid_argument as `require_weights` does, before anything is copied
void take_weights(const TensorFile& file, Transformer& model);
/// The text of a file's note. @throws std::invalid_argument naming the note if it is missing
const std::string& note(const TensorFile& file, const std::string& name);
/// The model with a file's options and weights.
/// @throws std::invalid_argument naming what is missing or does not fit
Transformer model_of(const TensorFile& file);
/// Checks the options before a model is made: one of absurd sizes would not fit into memory.
/// @throws std::invalid_argument if the file holds too few numbers for the model's matrices, or for
///         a table of positions of more than 2^25 numbers
void require_plausible(const TransformerOptions& o, const TensorFile& file);
// [load]
/// @throws std::runtime_error naming the file and what is wrong with it
Checkpoint load_checkpoint(const std::filesystem::path& path);
/// Where programs keep a checkpoint: `NAME-seedN.safetensors` in the folder that the environment
/// variable `ABH_CHECKPOINTS` names, or in `checkpoints` if it is not set.
/// @param name  what was trained, such as a task's `full_name`
std::filesystem::path default_checkpoint(const std::string& name, std::uint64_t seed);

}  // namespace abh
