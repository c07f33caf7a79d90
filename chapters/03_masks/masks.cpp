#include "chapters/03_masks/masks.hpp"

#include <algorithm>

namespace abh {
// [tables]
namespace {
/// Room for a table with a row for each query and a column for each key, `[B, Lq, Lk]`.
Mask table(const char* what, const Ids& queries, const Ids& keys) {
    require(queries.rank() == 2 && keys.rank() == 2 && queries.dim(0) == keys.dim(0),
            "{}: queries have shape {}, keys {}, expected [B, Lq] and [B, Lk]", what,
            queries.shape(), keys.shape());
    return Mask({keys.dim(0), queries.dim(1), keys.dim(1)});
}
}  // namespace
// [padding]
Mask padding_mask(const Ids& queries, const Ids& keys, std::int32_t pad) {
    Mask mask = table("padding mask", queries, keys);  // [B, Lq, Lk]
    for (Index b = 0; b < mask.dim(0); ++b)            // a sentence
        for (Index i = 0; i < mask.dim(1); ++i)        // a query: who looks
            for (Index j = 0; j < mask.dim(2); ++j)    // a key: who is looked at
                mask(b, i, j) = keys(b, j) == pad;     // 1 hides
    return mask;
}
// [triangle]
Ids upper_triangle(const Ids& values, Index offset) {
    require(values.rank() == 1 || values.rank() == 2,
            "upper triangle: values have shape {}, expected [n] or [m, n]", values.shape());
    const bool one_row = values.rank() == 1;
    const Index n = values.dim(-1), m = one_row ? n : values.dim(0);
    Ids result({m, n});
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j)
            result(i, j) = j - i < offset ? 0 : one_row ? values(j) : values(i, j);
    return result;
}
// [look ahead]
Mask look_ahead_mask(const Ids& ids) {
    Mask mask = table("look-ahead mask", ids, ids);  // [B, L, L]
    for (Index b = 0; b < mask.dim(0); ++b)
        for (Index i = 0; i < mask.dim(1); ++i)
            for (Index j = 0; j < mask.dim(2); ++j) mask(b, i, j) = j > i;
    return mask;
}
// [combine]
Mask mask_or(const Mask& a, const Mask& b) {
    require(a.shape() == b.shape(), "mask_or: masks have shapes {} and {}, expected equal shapes",
            a.shape(), b.shape());
    Mask result(a.shape());
    std::transform(a.values().begin(), a.values().end(), b.values().begin(),
                   result.values().begin(),
                   [](std::uint8_t x, std::uint8_t y) -> std::uint8_t { return x || y; });
    return result;
}

Mask invert(const Mask& mask) {
    Mask result(mask.shape());
    std::transform(mask.values().begin(), mask.values().end(), result.values().begin(),
                   [](std::uint8_t x) -> std::uint8_t { return !x; });
    return result;
}
// [over heads]
Mask over_heads(const Mask& mask) {
    require(mask.rank() == 3, "over_heads: mask has shape {}, expected [B, Lq, Lk]", mask.shape());
    return mask.reshape({mask.dim(0), 1, mask.dim(1), mask.dim(2)});  // shares memory
}
// [scores]
void check_mask(const Mask& mask, const Shape& scores) {
    if (mask.empty()) return;
    require(mask.rank() == 4,
            "attention: mask has shape {}, scores {}: insert an axis for the heads", mask.shape(),
            scores);
    for (int axis = 0; axis < 4; ++axis)
        require(mask.dim(axis) == 1 || mask.dim(axis) == scores[axis],
                "attention: mask of shape {} does not fit scores of shape {}", mask.shape(),
                scores);
}

MaskSteps steps_of(const Mask& mask) {
    const auto step = [&](int axis) {
        Index size = mask.dim(axis) == 1 ? 0 : 1;
        for (int inner = axis + 1; inner < 4; ++inner) size *= mask.dim(inner);
        return size;
    };
    return {step(0), step(1), step(2), step(3)};
}
// [print]
std::string to_string(const Mask& mask, MaskStyle style) {
    require(mask.rank() == 3, "to_string: mask has shape {}, expected [B, Lq, Lk]", mask.shape());
    const bool brackets = style != MaskStyle::digits, words = style == MaskStyle::booleans;
    const bool all = std::count(mask.values().begin(), mask.values().end(), 0) == 0;
    const char* const hidden = !words ? "1" : all ? "True" : " True";  // as wide as False, if any
    const char* const seen = words ? "False" : "0";
    std::string text = brackets ? "tensor([" : "";
    for (Index b = 0; b < mask.dim(0); ++b) {
        if (b > 0) text += brackets ? ",\n\n        " : "\n";
        if (brackets) text += "[";
        for (Index i = 0; i < mask.dim(1); ++i) {
            if (brackets) text += i > 0 ? ",\n         [" : "[";
            for (Index j = 0; j < mask.dim(2); ++j) {
                if (j > 0) text += brackets ? ", " : " ";
                text += mask(b, i, j) ? hidden : seen;
            }
            text += brackets ? "]" : "\n";
        }
        if (brackets) text += "]";
    }
    if (!brackets) return text;
    return text + (words ? "])\n" : "], dtype=torch.uint8)\n");
}
// [print: whole numbers]
std::string to_string(const Ids& matrix) {
    require(matrix.rank() == 2, "to_string: matrix has shape {}, expected [m, n]", matrix.shape());
    std::size_t width = 0;
    for (std::int32_t value : matrix.values())
        width = std::max(width, std::to_string(value).size());
    std::string text = "[";
    for (Index i = 0; i < matrix.dim(0); ++i) {
        text += i > 0 ? "\n [" : "[";
        for (Index j = 0; j < matrix.dim(1); ++j)
            text += fmt::format("{}{:>{}}", j > 0 ? " " : "", matrix(i, j), width);
        text += "]";
    }
    return text + "]\n";
}

}  // namespace abh
