// Exercise 14.2: a tree of sums.
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// The sum of all parts, added as in the tree: neighbors, then pairs of neighbors, and so on.
/// @param parts  [S, n], S >= 1
/// @return       [n]
Tensor tree_sum(const Tensor& parts) {
    // solution
    const Index count = parts.dim(0);
    Tensor sums = parts.clone();  // row i becomes the sum of the node that begins with part i
    for (Index width = 1; width < count; width *= 2)
        for (Index i = 0; i + width < count; i += 2 * width) {
            Tensor left = sums.rows(i, i + 1);
            left += sums.rows(i + width, i + width + 1);
        }
    return sums.rows(0, 1).reshape({parts.dim(1)});
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
