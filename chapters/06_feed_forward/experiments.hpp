#pragma once

#include <cstdint>

#include "chapters/06_feed_forward/add_norm.hpp"

namespace abh {
// [paths]
/// How far the gradient of a norm without gamma and beta is from central differences, in double
/// precision, if it has only the first `terms` of its three terms: the direct one, the one through
/// the mean, and the one through the variance.
/// @param terms  1 to 3
/// @param x      one row, `[n]`
/// @return       the largest error of an element of `dx`
double error_of_paths(int terms, const Tensor& x, const Tensor& dy);
// [deep stack]
/// Measures a stack of feed-forward sublayers, each in its residual connection, after 0, 1, ...,
/// depth sublayers: the size (root mean square) of the rows, the size of the gradient with respect
/// to them, and the size of that gradient along the residual connections alone.
/// @return  `[3, depth + 1]`, in this order
Tensor by_depth(Index depth, NormPlacement placement, std::uint64_t seed);

}  // namespace abh
