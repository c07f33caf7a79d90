// Exercise 15.2: the smallest set.
#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Top-p: keeps the fewest words whose probabilities add up to `top_p` or more. Of equal words the
/// first counts as the likelier one.
/// @param probabilities  of all words, [n], with the sum 1
/// @param top_p          more than 0, at most 1
/// @return               [n], 0 for the words left out; those kept in proportion, with the sum 1
Tensor smallest_set(const Tensor& probabilities, Real top_p) {
    Tensor kept = Tensor::zeros(probabilities.shape());
    // solution
    std::vector<Index> order(static_cast<std::size_t>(kept.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater(), [&](Index j) { return probabilities(j); });
    Real sum = 0;
    for (const Index j : order) {
        if (sum >= top_p) break;
        sum += kept(j) = probabilities(j);
    }
    kept *= 1 / sum;
    // stub
    // (void)top_p;
    // throw std::logic_error("not written yet");
    // end
    return kept;
}

}  // namespace abh::mine
