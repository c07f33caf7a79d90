#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/tensor.hpp"

namespace abh {
// [update]
/// The two factors of a gradient `dy^T x`.
struct Factors {
    Tensor dy;  ///< [rows, d_out]
    Tensor x;   ///< [rows, d_in]
};

/// Whether so many rows are so much smaller than their product that they had better be kept.
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

// [gradient]
/// The gradient of the loss with respect to a parameter: a tensor that everybody adds to.
///
/// Fast ways may hand in a product by its factors, which waits until somebody looks at the tensor.
///
/// Copying a gradient copies a handle, as with tensors: what is added to a copy is added to all.
class Gradient {
public:
    Gradient() = default;
    explicit Gradient(const Shape& shape) : shape_(shape) {}

    /// The gradient with all that waited; zeros when first asked for.
    Tensor& tensor();
    /// No memory is touched: whoever adds next overwrites.
    void zero();
    /// `+= share`, of the gradient's shape.
    void add(const Tensor& share);
    /// Becomes these numbers, of the gradient's shape, and keeps their tensor.
    void assign(Tensor numbers);
    /// `+= dy^T x` for a gradient of shape `[d_out, d_in]`. Where the factors are much smaller than
    /// the product they are kept, and multiplied when somebody asks.
    /// @param dy  `[rows, d_out]`; not to be changed afterwards
    /// @param x   `[rows, d_in]`; not to be changed afterwards
    void add_product(const Tensor& dy, const Tensor& x);
    /// Gives the gradient to `update`, part by part, on all threads. A product that waits is
    /// multiplied part by part, so that the whole gradient never stands in memory.
    void update(const Update& update);
    // [gradient: complete]
    /// One more layer adds to this gradient.
    void share() { ++state_->layers; }
    /// A layer has added its share. When all have, in one backward, the gradient is complete.
    void added();
    /// Is called from here on whenever backward has completed the gradient; empty: nothing is.
    void on_complete(std::function<void()> hook) { state_->complete = std::move(hook); }

private:
    struct State {
        Tensor sum;
        bool is_zero = true;  ///< whatever `sum` holds
        std::vector<Factors> waiting;
        int layers = 1, added = 0;  ///< that have the parameter; those that added their share
        std::function<void()> complete;
    };
    Shape shape_{0};
    std::shared_ptr<State> state_ = std::make_shared<State>();  ///< of all copies
};

}  // namespace abh
