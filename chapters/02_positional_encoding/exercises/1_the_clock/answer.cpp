// Exercise 02.1: the table of sines and cosines.
#include <cmath>
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// @param max_len  number of positions, >= 1
/// @param d_model  number of columns, >= 1; if odd, the last sine has no cosine
/// @return         PE, [max_len, d_model]
Tensor sinusoid_table(Index max_len, Index d_model) {
    Tensor table({max_len, d_model});
    // solution
    for (Index t = 0; t < max_len; ++t)
        for (Index c = 0; c < d_model; ++c) {
            const double exponent =
                -2.0 * static_cast<double>(c / 2) / static_cast<double>(d_model);
            const double angle = static_cast<double>(t) * std::pow(10000.0, exponent);
            table(t, c) = static_cast<Real>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return table;
}

}  // namespace abh::mine
