#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "chapters/09_training/data/corpus.hpp"
#include "chapters/09_training/loop/training.hpp"
#include "chapters/09_training/model/transformer.hpp"

namespace abh {
// [tasks]
/// A corpus, with a model and a way of training that fit it.
struct Task {
    std::string name;
    Corpus corpus;
    TransformerOptions model;  ///< its vocabularies have the sizes of those of the corpus
    TrainingOptions training;
    bool print_steps = false;  ///< print a line per step, not one per epoch

    TransformerOptions own_model = model;  ///< what fits the corpus, whatever was asked for
    TrainingOptions own_training = training;
};

/// The Chinese-English toy at its full size: d_model 512, d_ff 2048, 8 heads, 6 + 6 layers, no
/// biases, a norm without gamma and beta; SGD with learning rate 1e-3 and momentum 0.99.
Task toy_task();
/// The German-English notebook, completed, and trained like the toy.
Task notebook_task();
/// The grammar's 2,520 pairs and a small model: d_model 128, d_ff 256, 4 heads, 2 + 2 layers; Adam
/// with warm-up, batches of 32, label smoothing 0.1.
/// @param codes  false for a model that has no position codes, for comparison
Task grammar_task(bool codes = true);
/// The pairs of a file, with similar lengths together, and the grammar's model or another.
/// Its name holds a digest of the pairs, because another file may have this file's name.
/// @throws std::runtime_error as `read_corpus` does
/// @throws std::invalid_argument if the model's pad is not 0
Task file_task(const std::filesystem::path& path, const std::optional<TransformerOptions>& model);
/// `toy`, `notebook`, `grammar`, or the pairs of a file if `file` is not empty.
/// @param model  used instead of the task's own, but with the vocabulary sizes of the corpus
/// @throws std::invalid_argument if the name is unknown, or the model's pad is not 0
/// @throws std::runtime_error as `read_corpus` does
Task make_task(const std::string& name, const std::filesystem::path& file,
               const std::optional<TransformerOptions>& model = {});
// [names]
/// The name of a task, followed by what is different from the task's own model and training:
/// `toy`, `toy-shared_heads`, `toy-epochs=1-lr=0.01`, `toy-model=1a2b3c4d`.
std::string full_name(const Task& task);
/// The same in full: `toy, seed 1, the task's own model, epochs 100, batch 2, ..., way fast`.
std::string how_made(const Task& task, std::uint64_t seed);

}  // namespace abh
