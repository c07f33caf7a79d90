#pragma once

#include "chapters/03_masks/packing.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [options]
/// Which columns of a head turn together. Whoever loads a model must know which of the two it was
/// trained with, because the weights fit one only.
enum class Pairing {
    neighbors,  ///< 2i and 2i + 1, as in the paper
    halves      ///< i and i + d/2, as in most published models
};

struct RotaryOptions {
    Real base = 10000;
    Pairing pairing = Pairing::halves;
};
// [rotate]
/// Turns each pair of columns of each head by an angle that grows with the row's position: pair i
/// of the row at position t turns by `t * base^(-2i/d)`, counterclockwise. Su et al. 2021.
///
/// The dot product of a turned query and a turned key depends on their distance, not on where they
/// stand.
///
/// @param x        `[B, L, H * d]`, the heads side by side
/// @param n_heads  H
/// @param first    the position of each sentence's first row
/// @param packing  where sentences begin, if `x` is `[1, rows, H * d]` without pads
/// @return         the same shape
/// @throws std::invalid_argument unless d is a whole and even number, if the base is not > 0, or if
///         `packing` has other rows
Tensor rotate(const Tensor& x, Index n_heads, const RotaryOptions& options = {}, Index first = 0,
              const Packing& packing = {});
/// @param dy  gradient of the loss with respect to the result of `rotate`
/// @return    `dx`: `dy`, turned back
Tensor rotate_backward(const Tensor& dy, Index n_heads, const RotaryOptions& options = {},
                       Index first = 0, const Packing& packing = {});

}  // namespace abh
