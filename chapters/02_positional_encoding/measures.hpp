#pragma once

#include <cstdint>

#include "lib/program/output.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [measures]
/// Counts the columns of a table of codes that move by less than 0.01 from row `first` on.
Index count_still(const Tensor& table, Index first = 0);

/// Lowest and highest dot product of rows t and t + shift with t >= `first`.
/// @return `[2, n]`, one column for each shift < n
Tensor dots_by_distance(const Tensor& table, Index n, Index first = 0);

/// The largest difference between a sine of the table and the same sine computed in single
/// precision, from a frequency and an angle that are rounded to it.
double single_precision_error(const Tensor& table);

/// Prints how long random words and the codes of their positions are, for three sizes of the words'
/// entries, and the dot products of words and positions.
void show_mixture(Index d_model, std::uint64_t seed, Results& results);

}  // namespace abh
