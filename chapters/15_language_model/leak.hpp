#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [leak]
/// Trains stacks whose mask forgets to hide the future, and prints how many held-out pairs they get
/// right with the right words before them, and by themselves.
/// @param seeds  how many trainings
void show_leak(Index seeds, Results& results);

}  // namespace abh
