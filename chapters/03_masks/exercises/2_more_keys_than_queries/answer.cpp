// Exercise 03.2: more keys than queries.
#include <stdexcept>

#include "lib/tensor.hpp"

namespace abh::mine {

/// Hides the future, where the last query is at the place of the last key.
/// @param n_queries  Lq >= 1
/// @param n_keys     Lk >= Lq
/// @return           [1, Lq, Lk], 1 = hide
/// @throws std::invalid_argument, naming both numbers, if there are more queries than keys
Mask look_ahead_mask(Index n_queries, Index n_keys) {
    // solution
    require(n_queries <= n_keys, "look-ahead mask: {} queries, but {} keys", n_queries, n_keys);
    Mask mask({1, n_queries, n_keys});
    for (Index i = 0; i < n_queries; ++i)
        for (Index j = 0; j < n_keys; ++j) mask(0, i, j) = j > i + n_keys - n_queries;
    return mask;
    // stub
    // (void)n_queries, (void)n_keys;
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
