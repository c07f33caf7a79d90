#include "lib/gradient.hpp"

#include <utility>

namespace abh {
// [gradient]
Tensor& Gradient::tensor() {
    tell();
    State& s = *state_;
    if (waits())
        s.waiting->add_to(s.sum, s.is_zero);
    else if (s.is_zero)
        target().sum.fill(0);
    forget();
    s.is_zero = false;
    return s.sum;
}

Gradient::Target Gradient::target() {
    tell();
    State& s = *state_;
    if (waits()) tensor();
    if (s.is_zero && (s.sum.empty() || s.sum.shared())) s.sum = Tensor(shape_);
    return {s.sum, !std::exchange(s.is_zero, false)};
}

void Gradient::zero() {
    state_->is_zero = true;
    forget();
}

void Gradient::add(const Tensor& share) {
    require_shape(share.shape(), shape_, "gradient", "share");
    tell();
    if (state_->is_zero && !waits())
        state_->sum = share.clone();
    else
        tensor() += share;
    state_->is_zero = false;
}

std::unique_ptr<Gradient::Waiting>& Gradient::waiting() {
    tell();
    return state_->waiting;
}

}  // namespace abh
