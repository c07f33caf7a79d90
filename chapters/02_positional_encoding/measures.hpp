#pragma once

#include <cstdint>

#include "lib/program/output.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [measures]
/// Columns of a table of codes that move by less than a hundredth from row `first` on.
Index count_still(const Tensor& table, Index first = 0);

/// Lowest and highest dot product of rows t and t + shift with t >= `first`.
/// @return `[2, n]`, a column for each shift < n
Tensor dots_by_distance(const Tensor& table, Index n, Index first = 0);

/// The largest difference between an entry of row t + shift, and of row t with each pair of columns
/// turned by `shift` times its frequency.
/// @param table  of an even width
double rotation_error(const Tensor& table, Index shift);

/// The largest difference between a sine of the table and the one whose frequency and angle are
/// computed in single precision.
double single_precision_error(const Tensor& table);

/// Prints how large random words are beside their codes, for three sizes of their entries, and the
/// dot products of words and positions.
void show_mixture(Index d_model, std::uint64_t seed, Results& results);

}  // namespace abh
