#pragma once

#include "lib/parameter.hpp"

namespace abh::cuda {
// [column sums]
/// Into how many parts the rows of `[n_rows, n]` are divided so that their sums keep a device busy.
Index parts_of_columns(Index n_rows, Index n);
/// Divides the rows of `x` into as many parts as `sums` has rows, and sums the columns of each
/// part.
/// @param add  whether to add to what `sums` holds
void column_sums(Tensor& sums, const Tensor& x, bool add);
// [gradients]
/// Adds the column sums of `x` to a gradient. If there are several parts, their sums wait.
void add_column_sums(Gradient& gradient, const Tensor& x);
/// Adds the column sums that wait to the gradients of the list, all in one launch.
void complete(const Parameters& list);

}  // namespace abh::cuda
