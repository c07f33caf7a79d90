#pragma once

#include <functional>
#include <span>

#include "lib/gradient.hpp"

namespace abh::fast {
// [waiting]
/// Whether so many rows are so much smaller than their product that they had better be kept.
constexpr bool worth_keeping(Index rows, Index d_out, Index d_in) {
    return 4 * rows * (d_out + d_in) <= d_out * d_in;
}

/// `gradient += dy^T x`, of shape `[d_out, d_in]`. Where the factors are much smaller than the
/// product they are kept, and multiplied when somebody asks for the gradient.
/// @param dy  `[rows, d_out]`; not to be changed afterwards
/// @param x   `[rows, d_in]`; not to be changed afterwards
void add_product(Gradient& gradient, const Tensor& dy, const Tensor& x);
// [update]
/// What an optimizer does with a weight.
struct Update {
    /// Is given some elements of the gradient, from `begin` on, and updates the weight there.
    /// Called on all threads, once for each element.
    std::function<void(Index begin, std::span<const Real> gradient)> step;
    /// The weight and what else `step` touches, each of the weight's size: prefetched. Not owned:
    /// to be there until the update is done.
    std::span<const Tensor> touched;
};

/// Gives the gradient to `update`, part by part, on all threads. A product that waits is multiplied
/// part by part, so that the whole gradient never stands in memory.
void update(Gradient& gradient, const Update& update);

}  // namespace abh::fast
