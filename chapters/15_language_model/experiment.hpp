#pragma once

#include "chapters/15_language_model/language_model.hpp"
#include "lib/program/output.hpp"

namespace abh {
// [experiment]
/// Trains chapter 10's encoder-decoder and a stack that only continues text on the grammar, with
/// equal parameters, pairs and steps, and prints what each translates of the pairs held out; from
/// two seeds on, also a stack whose loss counts all words.
/// @param seeds  how many trainings of each
void show_experiment(Index seeds, std::uint64_t first_seed, Results& results);
/// Trains the stack of today, and the same with one part at a time as it was in 2017.
void show_parts(Index seeds, Results& results);
/// The grammar's model without its encoder: as many layers as give the same number of parameters.
StackOptions stack_options(Index words);
/// The stack of the experiment with the parts of today, of the same width and depth. A gated
/// network of two thirds the width has as many parameters as chapter 6's.
LlamaOptions llama_options(Index words);

}  // namespace abh
