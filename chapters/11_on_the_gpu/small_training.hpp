#pragma once

#include <vector>

#include "chapters/09_training/training.hpp"
#include "lib/device.hpp"

namespace abh {
// [small training]
/// A toy in small, with every kernel of a training step.
Task small_task();

struct Losses {
    std::vector<double> loss;
    Transfers moved;  ///< in the last step
};

/// The losses of so many steps on one batch.
/// @param count  whether the emulator counts the last step but one
Losses train_some_steps(const Task& task, Index steps, std::uint64_t seed, bool count);

}  // namespace abh
