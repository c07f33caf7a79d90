#pragma once

#include "lib/tensor.hpp"

namespace abh {
// [other tables]
/// The table that the toy's heat map shows. Its exponent counts columns instead of pairs,
/// `angle = t / 10000^(2 column / d)`, and row 0 is all zeros. For comparison only.
/// @return `[max_len, d_model]`
Tensor column_exponent_table(Index max_len, Index d_model);

/// The columns of `sinusoid_table` in another order: all sines, then all cosines, as in
/// tensor2tensor and in Marian's models.
/// @return `[max_len, d_model]`
Tensor sines_then_cosines(Index max_len, Index d_model);

}  // namespace abh
