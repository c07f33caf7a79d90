#pragma once

#include <functional>
#include <memory>

#include "lib/tensor.hpp"

namespace abh {
// [gradient]
/// The gradient of the loss with respect to a parameter. Each layer that has it adds a share.
///
/// Copying a gradient copies a handle, as with tensors: what is added to a copy is added to all.
class Gradient {
public:
    /// Shares that are still to be added. The plain ways never postpone an addition.
    struct Waiting {
        virtual ~Waiting() = default;
        virtual bool empty() const = 0;
        /// `sum += all waiting shares`; if `is_zero`, `sum` holds nothing yet and is overwritten.
        virtual void add_to(Tensor& sum, bool is_zero) const = 0;
        virtual void clear() = 0;
    };
    /// Where the next share goes: it is added to `sum`, or it overwrites what is there.
    struct Target {
        Tensor& sum;
        bool add;
    };
    struct State {
        Tensor sum;
        bool is_zero = true;               ///< if so, the contents of `sum` do not count
        std::unique_ptr<Waiting> waiting;  ///< null if nothing has ever waited
        std::function<void()> before_add;
    };

    Gradient() = default;
    explicit Gradient(const Shape& shape) : shape_(shape) {}

    /// The gradient, including everything that waited; zeros if nothing has been added. The caller
    /// may add to it.
    Tensor& tensor();
    /// Sets the gradient to zero without touching memory: the next addition overwrites it.
    void zero();
    /// For a kernel that writes a share itself. If nothing waits, the sum stays where it is in
    /// memory, unless the gradient is zero and somebody else has a handle to the sum.
    Target target();
    /// Adds `share`, which has the gradient's shape. A gradient of zero becomes a copy of it.
    void add(const Tensor& share);
    // [gradient: hook]
    /// From here on, calls `hook`, unless it is empty, before a share is added or begins to wait,
    /// and whenever `tensor` is called, because its caller may add to it. One share may cause
    /// several calls.
    void before_add(std::function<void()> hook) { state_->before_add = std::move(hook); }

    const Shape& shape() const { return shape_; }
    /// Whether anything is still waiting to be added.
    bool waits() const { return state_->waiting && !state_->waiting->empty(); }
    /// Where shares wait, for code that postpones an addition.
    std::unique_ptr<Waiting>& waiting();
    State& state() { return *state_; }

private:
    void tell() {
        if (state_->before_add) state_->before_add();
    }
    void forget() {
        if (state_->waiting) state_->waiting->clear();
    }

    Shape shape_{0};
    std::shared_ptr<State> state_ = std::make_shared<State>();  ///< shared by all copies
};

}  // namespace abh
