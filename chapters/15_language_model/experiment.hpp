#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [experiment]
/// Trains chapter 10's encoder-decoder and a stack that only continues text on the grammar, with
/// equal parameters, pairs and steps, and prints what each translates of the pairs held out.
/// @param seeds  how many trainings of each
void show_experiment(Index seeds, Index first_seed, Results& results);
/// Trains the modern stack, and the same with one part at a time as it was in 2017.
void show_parts(Index seeds, Results& results);

}  // namespace abh
