#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/stored_weight.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [kinds]
/// How the numbers of a tensor are stored in a file.
enum class NumberKind { f32, f16, bf16, q8_0, q4_0, q4_1 };

/// Numbers are stored in blocks, each in so many bytes; a block of F32, F16 or BF16 is one number.
struct BlockFormat {
    const char* name;  ///< as files call it: "Q4_1"
    Index numbers;     ///< in a block
    Index bytes;       ///< of a block
};
const BlockFormat& format_of(NumberKind kind);
/// The kind with this name, if it is one of those above.
std::optional<NumberKind> kind_named(std::string_view name);
// [read and round]
/// The numbers that blocks stand for, in `to`, which has room for a whole number of blocks. Where a
/// scale or minimum is infinite or NaN, so are the numbers, as arithmetic has it.
/// @param blocks  may begin at any address
void read_blocks(NumberKind kind, const std::byte* blocks, std::span<Real> to);
/// The blocks that stand for these numbers best, as the formats' reference rounds: for Q8_0 the
/// scale is the largest size over 127, for Q4_0 the number of largest size over -8, and for Q4_1
/// scale and minimum span the numbers. Infinity and NaN stay in F32, F16 and BF16.
/// @throws std::invalid_argument unless the numbers fill whole blocks, and for infinity, NaN and
///     numbers too large for a scale in fp16 in the other formats
std::vector<std::byte> round_to_blocks(NumberKind kind, std::span<const Real> numbers);
// [block matrix]
/// A matrix, stored row by row in blocks that somebody else keeps.
class BlockMatrix : public StoredWeight {
public:
    /// @param owner  keeps the bytes, such as the mapped file that they lie in
    /// @throws std::invalid_argument unless a row is a whole number of blocks
    BlockMatrix(NumberKind kind, Index rows, Index columns, const std::byte* blocks,
                std::shared_ptr<const void> owner);

    Index d_out() const override { return rows_; }
    Index d_in() const override { return columns_; }
    /// `x W^T`, for few rows without unpacking the matrix. @param x  `[rows, d_in]`
    Tensor multiply(const Tensor& x) const override;

    NumberKind kind() const { return kind_; }
    /// Of all its blocks.
    Index bytes() const { return rows_ * bytes_in_row(); }
    Index bytes_in_row() const;
    const std::byte* row(Index i) const { return blocks_ + i * bytes_in_row(); }
    /// Rows `begin` to `end - 1` as numbers, `[end - begin, columns]`.
    Tensor read_rows(Index begin, Index end) const override;

private:
    NumberKind kind_;
    Index rows_, columns_;
    const std::byte* blocks_;
    std::shared_ptr<const void> owner_;
};
/// `w`, `[rows, columns]`, rounded to blocks of this kind.
BlockMatrix rounded_matrix(const Tensor& w, NumberKind kind);

}  // namespace abh
