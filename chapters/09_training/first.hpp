#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [first]
/// Prints a loss, its gradient and a step by hand, three wrong losses, and a first training.
/// @param results  receives `step_*` of the step, `squared_*`, `twice_*` and `padded` of the wrong
///                 losses, and of the trainings `first_loss`, `last_loss`, `after_a_least`
void show_first_training(std::uint64_t seed, Results& results);

}  // namespace abh
