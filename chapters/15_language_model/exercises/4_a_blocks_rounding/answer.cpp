// Exercise 15.4: a block's rounding.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// What the numbers of a block come back as, after they have been rounded to 4 bits with a scale
/// and a minimum, as in Q4_1. Scale and minimum themselves are not rounded.
/// @param numbers  of one block, [n], at least one
/// @return         [n]
Tensor rounded_block(const Tensor& numbers) {
    Tensor back(numbers.shape());
    // solution
    const auto [least, most] = std::ranges::minmax(numbers.values());
    const Real scale = (most - least) / 15;
    for (Index i = 0; i < numbers.size(); ++i) {
        const Real q = scale > 0 ? std::round((numbers(i) - least) / scale) : 0;
        back(i) = scale * q + least;
    }
    // stub
    // throw std::logic_error("not written yet");
    // end
    return back;
}

}  // namespace abh::mine
