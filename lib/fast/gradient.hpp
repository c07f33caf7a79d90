#pragma once

#include <functional>
#include <span>

#include "lib/gradient.hpp"

namespace abh::fast {
// [waiting]
/// Whether factors with this many rows are so much smaller than their product that keeping them
/// pays.
constexpr bool worth_keeping(Index rows, Index d_out, Index d_in) {
    return 4 * rows * (d_out + d_in) <= d_out * d_in;
}

/// `gradient += dy^T x`, of shape `[d_out, d_in]`. If the factors are much smaller than the
/// product, they are kept, and multiplied only when the gradient is asked for.
/// @param dy  `[rows, d_out]`; not to be changed afterwards
/// @param x   `[rows, d_in]`; not to be changed afterwards
/// @throws std::invalid_argument if the shapes do not fit
void add_product(Gradient& gradient, const Tensor& dy, const Tensor& x);
// [update]
/// What an optimizer does with a weight.
struct Update {
    /// Receives some elements of the gradient, from `begin` on, and updates the weight there. It is
    /// called on all threads, and gets each element once.
    std::function<void(Index begin, std::span<const Real> gradient)> step;
    /// The tensors to prefetch: the weight and whatever else `step` touches, each as large as the
    /// weight. They are not owned, so they must exist until the update is done.
    std::span<const Tensor> touched;
};

/// Gives the gradient to `update`, part by part, on all threads. If all of it still waits, the
/// products are multiplied part by part, too, so the whole gradient is never in memory.
void update(Gradient& gradient, const Update& update);

}  // namespace abh::fast
