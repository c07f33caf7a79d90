#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [first]
/// Prints a loss, its gradient and a step by hand, three wrong losses, and a first training.
/// @param results  receives what the chapter's page says of them
void show_first_training(std::uint64_t seed, Results& results);

}  // namespace abh
