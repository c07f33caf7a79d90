#pragma once

#include <cstdint>

#include "chapters/06_feed_forward/add_norm.hpp"

namespace abh {
// [paths]
/// How far the gradient of a norm without gamma and beta is from central differences, in double
/// precision, if only some of its three terms are there: directly, through the mean, through the
/// variance.
/// @param terms  1 to 3
/// @param x      one row, `[n]`
/// @return       the largest error of an element of `dx`
double error_of_paths(int terms, const Tensor& x, const Tensor& dy);
// [deep stack]
/// A stack of feed-forward sublayers, each in its residual connection: the size (root of the mean
/// square) of the rows, and of the gradient with respect to them, after 0, 1, ..., depth sublayers;
/// the gradient once in full, once along the residual connections alone.
/// @return  `[3, depth + 1]`
Tensor by_depth(Index depth, NormPlacement placement, std::uint64_t seed);

}  // namespace abh
