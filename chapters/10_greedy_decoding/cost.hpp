#pragma once

#include "lib/program/output.hpp"

namespace abh {
// [cost]
/// Prints what ever longer outputs cost, without and with the key-value cache; a sentence in a
/// batch of ever more; and attention of one query.
/// @param results  receives arrays `words`, `multiply_adds` and `milliseconds` of the first table,
///                 `count_ratio` and `time_ratio` of its last line, `batch_N_ms`, `batch_N_gain`
///                 and `query_N_gain`
void show_decoding_cost(std::uint64_t seed, Results& results);

}  // namespace abh
