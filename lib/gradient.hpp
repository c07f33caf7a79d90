#pragma once

#include <functional>
#include <memory>

#include "lib/tensor.hpp"

namespace abh {
// [gradient]
/// The gradient of the loss with respect to a parameter: a tensor that everybody adds to.
///
/// Copying a gradient copies a handle, as with tensors: what is added to a copy is added to all.
class Gradient {
public:
    /// What is still to be added: the business of fast ways, which may wait with it.
    struct Waiting {
        virtual ~Waiting() = default;
        virtual bool empty() const = 0;
        /// `sum += all that waits`; if `is_zero`, `sum` is not written yet, and becomes it.
        virtual void add_to(Tensor& sum, bool is_zero) const = 0;
        virtual void clear() = 0;
    };
    struct State {
        Tensor sum;
        bool is_zero = true;               ///< whatever `sum` holds
        std::unique_ptr<Waiting> waiting;  ///< null where none ever waited
        int layers = 1, added = 0;         ///< that have the parameter; that added their share
        std::function<void()> complete;
    };

    Gradient() = default;
    explicit Gradient(const Shape& shape) : shape_(shape) {}

    /// The gradient with all that waited; zeros when first asked for.
    Tensor& tensor();
    /// No memory is touched: the next addition overwrites.
    void zero();
    /// `+= share`, of the gradient's shape.
    void add(const Tensor& share);
    /// Becomes these numbers, of the gradient's shape, and keeps their tensor.
    void assign(Tensor numbers);
    // [gradient: complete]
    /// One more layer adds to this gradient.
    void add_layer() { ++state_->layers; }
    /// A layer has added its share. When all have, in one backward, the gradient is complete.
    void added();
    /// Is called from here on whenever backward has completed the gradient; empty: nothing is.
    void on_complete(std::function<void()> hook) { state_->complete = std::move(hook); }

    const Shape& shape() const { return shape_; }
    /// Whether anything waits.
    bool waits() const { return state_->waiting && !state_->waiting->empty(); }
    State& state() { return *state_; }

private:
    void forget() {
        if (state_->waiting) state_->waiting->clear();
    }

    Shape shape_{0};
    std::shared_ptr<State> state_ = std::make_shared<State>();  ///< of all copies
};

}  // namespace abh
