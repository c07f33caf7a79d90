#pragma once

#include <filesystem>
#include <string>

#include "chapters/09_training/corpus.hpp"
#include "chapters/09_training/transformer.hpp"
#include "lib/io/safetensors.hpp"

namespace abh {
// [checkpoint]
/// A trained model and the words of its vocabularies.
struct Checkpoint {
    Transformer model;
    Vocabulary source, target;
};

/// Writes parameters, options and words to one safetensors file, whole or not at all.
void save_checkpoint(const std::filesystem::path& path, Transformer& model, const Corpus& corpus);
/// Checks the options before a model is made: one of absurd sizes would not fit into memory.
/// @throws std::invalid_argument if the file holds too few numbers for the model's matrices
void require_plausible(const TransformerOptions& o, const TensorFile& file);
/// @throws std::runtime_error naming the file and what is wrong with it
Checkpoint load_checkpoint(const std::filesystem::path& path);
/// Where programs keep the checkpoint of a task: `TASK-seedN.safetensors` in the folder that the
/// environment variable `ABH_CHECKPOINTS` names, or in `checkpoints` if it is not set.
std::filesystem::path default_checkpoint(const std::string& task, std::uint64_t seed);

}  // namespace abh
