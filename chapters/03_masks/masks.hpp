#pragma once

#include <string>

#include "lib/tensor.hpp"

namespace abh {
// [padding]
/// Hides the keys that are padding: `mask[b, i, j] = (keys[b, j] == pad)` for every query i.
///
/// @param queries  ids `[B, Lq]`; only their shape matters, because a pad's own row is never read
/// @param keys     ids `[B, Lk]`
/// @param pad      the id that means padding
/// @return         `[B, Lq, Lk]`, 1 = hide
/// @throws std::invalid_argument unless both have two axes and the same B
Mask padding_mask(const Ids& queries, const Ids& keys, std::int32_t pad = 0);
// [triangle]
/// numpy's `triu`: keeps the numbers with `j - i >= offset`, and sets the others to zero.
///
/// @param values  `[m, n]`, or `[n]`, which means n equal rows
/// @param offset  0 keeps the diagonal, 1 does not, -1 keeps one more diagonal
/// @return        `[m, n]`
/// @throws std::invalid_argument unless `values` has one or two axes
Ids upper_triangle(const Ids& values, Index offset = 0);
// [look ahead]
/// Hides the future: `mask[b, i, j] = (j > i)`, ones strictly above the diagonal.
/// @param ids  `[B, L]`; only the shape matters
/// @return     `[B, L, L]`, 1 = hide
/// @throws std::invalid_argument unless `ids` has two axes
Mask look_ahead_mask(const Ids& ids);
// [combine]
/// 1 where `a` or `b` is 1. @throws std::invalid_argument if the shapes differ
Mask mask_or(const Mask& a, const Mask& b);
/// 1 where `mask` is 0: turns "1 = hide" into "1 = keep", and back.
Mask invert(const Mask& mask);
// [over heads]
/// `[B, Lq, Lk]` becomes `[B, 1, Lq, Lk]`: one mask for all heads of a sentence; shares memory.
/// @throws std::invalid_argument unless `mask` has three axes
Mask over_heads(const Mask& mask);
// [scores]
/// Throws std::invalid_argument unless the mask is empty, or has four axes, each of the size in
/// `scores`, `[B, H, Lq, Lk]`, or 1.
void check_mask(const Mask& mask, const Shape& scores);
/// How far apart in memory neighbors along each axis of a mask of scores are; 0 if one element
/// holds for the whole axis.
struct MaskSteps {
    Index sentence, head, query, key;
};
MaskSteps steps_of(const Mask& mask);
/// The element of a mask, which must not be empty, that decides about one score.
inline const std::uint8_t& at_score(const Mask& mask, Index b, Index h, Index i, Index j) {
    const auto index = [&](int axis, Index of_score) { return mask.dim(axis) == 1 ? 0 : of_score; };
    return mask(index(0, b), index(1, h), index(2, i), index(3, j));
}
// [print]
/// How a mask is printed.
enum class MaskStyle {
    booleans,  ///< nested brackets with `True` and `False`, as PyTorch prints a bool tensor
    bytes,     ///< nested brackets with `1` and `0`, as PyTorch prints a uint8 tensor
    digits     ///< rows of `0` and `1`, with an empty line between sentences
};
/// @param mask   `[B, Lq, Lk]`
/// @param style  see `MaskStyle`
std::string to_string(const Mask& mask, MaskStyle style);
/// A matrix `[m, n]` of whole numbers as numpy prints it.
std::string to_string(const Ids& matrix);

}  // namespace abh
