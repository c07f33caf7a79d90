#pragma once

#include "chapters/09_training/loop/task.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [with output]
/// Builds a model for the task, trains it and saves it, as the programs of this chapter and the
/// next do. It prints three sections: the model; its training; and time and checkpoint. Training
/// prints a line `Epoch: 0001 loss = 2.345678` after each step, or one per epoch with the mean. On
/// a terminal, a progress bar shows how far training has come.
/// @param checkpoint  the file to save to; empty: do not save
/// @param results     receives `parameters`, `steps`, `first_loss`, `final_loss`,
///                    `training_seconds`, arrays `losses` and `rates` (of learning) of all steps,
///                    and the gradient's norm by layer: `norms` `[rows, layers]`, `norm_epochs`
///                    `[rows]`, `norm_layers`
/// @throws std::runtime_error if the checkpoint cannot be written, which is also checked before
///         training, or if the loss is not a finite number
Transformer train_with_output(const Task& task, std::uint64_t seed,
                              const std::filesystem::path& checkpoint, Results& results);

}  // namespace abh
