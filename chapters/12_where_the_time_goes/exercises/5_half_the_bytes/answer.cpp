// Exercise 12.5: weights in half the bytes.
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/tensor.hpp"

namespace abh::mine {

using Half = std::uint16_t;  ///< the upper 16 bits of a float: bfloat16

/// The nearest number of 16 bits; if two are equally near, the one whose last bit is 0. A number
/// beyond the largest becomes infinite.
Half to_half(float weight) {
    // `std::bit_cast<std::uint32_t>(weight)` gives a float's 32 bits; `bit_cast` also goes back.
    // solution
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(weight);
    return static_cast<Half>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// `y = x W^T`, computed in single precision.
/// @param x  [rows, d_in], row after row
/// @param w  W of shape [d_out, d_in], row after row
/// @param y  receives the result, [rows, d_out]
void product(std::span<const float> x, std::span<const Half> w, std::span<float> y, Index rows,
             Index d_in, Index d_out) {
    // solution
    std::vector<float> wide(static_cast<std::size_t>(d_in));  // a row of W, in the first cache
    const Eigen::Map<const Eigen::VectorXf> row(wide.data(), d_in);
    for (Index o = 0; o < d_out; ++o) {
        const Half* const from = w.data() + o * d_in;
        for (Index i = 0; i < d_in; ++i)
            wide[static_cast<std::size_t>(i)] =
                std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
        for (Index r = 0; r < rows; ++r)
            y[static_cast<std::size_t>(r * d_out + o)] =
                row.dot(Eigen::Map<const Eigen::VectorXf>(x.data() + r * d_in, d_in));
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
