#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [tatoeba]
/// Trains chapter 10's encoder-decoder and a stack that only continues text on chapter 13's real
/// sentences, with one table of pieces each, equal parameters, pairs and steps, and scores what
/// they translate of the sentences held out.
void show_tatoeba(Index seeds, Results& results);

}  // namespace abh
