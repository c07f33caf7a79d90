#pragma once

#include "chapters/09_training/training.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [with output]
/// Builds a model for the task, trains it and saves it, as the programs of this chapter and the
/// next do, and prints three sections: model, training (a line `Epoch: 0001 loss = 2.345678` before
/// each update, or one with the mean of each epoch), time and checkpoint. On a terminal a progress
/// bar shows how far it is.
/// @param checkpoint  where to save; empty: nowhere
/// @param results     receives `parameters`, `steps`, `first_loss`, `final_loss`,
///                    `training_seconds`, arrays `losses` and `rates` (of learning) of all steps,
///                    and the gradient's norm by layer: `norms` `[rows, layers]`, `norm_epochs`
///                    `[rows]`, `norm_layers`
/// @throws std::runtime_error if the checkpoint cannot be written; asked before training, too
Transformer train_with_output(const Task& task, std::uint64_t seed,
                              const std::filesystem::path& checkpoint, Results& results);

}  // namespace abh
