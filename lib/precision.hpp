#pragma once

#include <cstdint>
#include <string>

#include "lib/tensor.hpp"

namespace abh {
/// The upper half of a float: a number in bf16.
using Half = std::uint16_t;
// [precision]
/// To what the ways `fast` and `cuda` round the operands of matrix products, `fast` only of large
/// ones. Sums, and all else, stay in single precision.
enum class Precision {
    single,  ///< nothing is rounded
    bf16,    ///< 16 bits: the upper half of a float
    int8     ///< 8 bits, and a scale for each row; for inference, and the way `fast`
};

namespace detail {
inline Precision current_precision = Precision::single;
}

inline Precision precision() {
    return detail::current_precision;
}
/// Sets the precision of all products from here on. Call it from one thread, while no operation
/// runs.
/// @throws std::invalid_argument naming a precision that the way does not have, or not with
///         Real = double
void set_precision(Precision precision);
/// Whether this program is built with oneDNN, and the processor has instructions that multiply in
/// bf16: AVX-512 BF16 or AMX. Otherwise products stay in single precision.
bool has_bf16();
/// Sets the precision called `float`, `bf16` or `auto`, which measures whether bf16 is faster.
/// On a processor without oneDNN, or instructions for bf16, all of them set `single`.
/// @return what was chosen and why, in one line; empty if `name` says it
/// @throws std::invalid_argument naming any other, or as `set_precision` does
std::string choose_precision(const std::string& name);
const char* to_string(Precision precision);
// [scoped precision]
/// Sets another precision until the end of the block.
class ScopedPrecision {
public:
    explicit ScopedPrecision(Precision precision) : before_(abh::precision()) {
        set_precision(precision);
    }
    ~ScopedPrecision() { detail::current_precision = before_; }
    ScopedPrecision(const ScopedPrecision&) = delete;
    ScopedPrecision& operator=(const ScopedPrecision&) = delete;

private:
    Precision before_;
};
// [rounded]
/// `x`, each element rounded to the nearest that the precision has; of two as near, to the even
/// one.
///
/// In 8 bits, the numbers of a row are -127 to 127 times its scale, the row's largest size / 127. A
/// row of zeros stays one, and a row with an infinity or a NaN becomes NaN.
/// @param x  `[..., n]`
Tensor rounded(const Tensor& x, Precision precision);

}  // namespace abh
