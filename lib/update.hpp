#pragma once

#include <functional>
#include <span>

#include "lib/tensor.hpp"

namespace abh {
// [update]
/// The two factors of a gradient `dy^T x`.
struct Factors {
    Tensor dy;  ///< [rows, d_out]
    Tensor x;   ///< [rows, d_in]
};

/// Whether such factors are so much smaller than their product that they had better be kept.
constexpr bool worth_keeping(Index rows, Index d_out, Index d_in) {
    return 4 * rows * (d_out + d_in) <= d_out * d_in;
}

/// What an optimizer does with a weight.
struct Update {
    /// Is given some elements of the gradient, from `begin` on, and updates the weight there.
    /// Called on all threads, once for each element.
    std::function<void(Index begin, std::span<const Real> gradient)> step;
    /// The weight and what else `step` touches, each of the weight's size: sent for in time.
    /// Not owned: to be there until the update is done.
    std::span<const Tensor> touched;
};

/// Gives the gradient that is the sum of these products to `update`, part by part.
void update_by_products(std::span<const Factors> products, const Update& update);

}  // namespace abh
