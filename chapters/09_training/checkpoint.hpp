#pragma once

#include <filesystem>
#include <string>

#include "chapters/09_training/corpus.hpp"
#include "chapters/09_training/transformer.hpp"
#include "lib/io/safetensors.hpp"

namespace abh {
// [checkpoint]
/// A trained model with its words.
struct Checkpoint {
    Transformer model;
    Vocabulary source, target;
};

/// Writes parameters, options and words to one safetensors file, whole or not at all.
void save_checkpoint(const std::filesystem::path& path, Transformer& model, const Corpus& corpus);
/// Asked before a model is made, since one of absurd sizes does not fit into memory.
/// @throws std::invalid_argument if the model's matrices have no room in a file of these tensors
void require_plausible(const TransformerOptions& o, const TensorFile& file);
/// @throws std::runtime_error naming the file and what is wrong with it
Checkpoint load_checkpoint(const std::filesystem::path& path);
/// Where programs keep the checkpoint of a task: `TASK-seedN.safetensors` in the folder that the
/// environment variable `ABH_CHECKPOINTS` names, or in `checkpoints`.
std::filesystem::path default_checkpoint(const std::string& task, std::uint64_t seed);

}  // namespace abh
