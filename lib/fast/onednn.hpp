#pragma once

#include <cstdint>
#include <memory>

#include "lib/fast/product.hpp"
#include "lib/precision.hpp"

namespace abh::onednn {
// [interface]
/// Whether this program is built with oneDNN, and the processor has instructions that multiply
/// numbers of 8 bits: AVX-512 VNNI or AMX.
bool has_int8();

/// The product of operands in bf16, with sums in single precision, on the calling thread.
/// @param p     the sizes, without a scale; oneDNN is fast if the rows of `c` follow one another
/// @param a, b  in place of those of `p`
void multiply(const Product& p, const Half* a, const Half* b);

/// The transpose of a matrix `[n, k]` of numbers of 8 bits, in the order that oneDNN reads fastest.
class Packed {
public:
    Packed(const std::int8_t* rows, Index n, Index k);
    ~Packed();

    /// How many rows are multiplied for m of them: for few numbers of rows there are few programs.
    static Index rows_for(Index m);
    /// Writes the sums, `[rows_for(m), n]`, of the product with `x`, on the calling thread. Rows
    /// from m on may hold anything.
    /// @param x  `[rows_for(m), k]`
    void multiply(const std::uint8_t* x, Index m, std::int32_t* sums) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace abh::onednn
