#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// Prints the cost of longer and longer outputs, without and with the key-value cache, and of a
/// sentence in larger and larger batches.
/// @param results  receives the arrays `words`, `multiply_adds` and `milliseconds`, and what the
///                 tables print, under `count_N_...`, `words_N_...` and `batch_N_...`
void show_decoding_cost(std::uint64_t seed, Results& results);

}  // namespace abh
