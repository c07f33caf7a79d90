#pragma once

#include "lib/tensor.hpp"

namespace abh::cuda {
// [optimizers on the device]
/// What a step of Adam takes for every weight; see `Adam::step`.
struct AdamFactors {
    Real b1, b2, eps, size, root, kept;
};

/// `v = momentum v + dw; w = w - lr v`.
void sgd_step(Tensor& w, Tensor& v, const Tensor& dw, Real momentum, Real learning_rate);
/// `m = b1 m + (1 - b1) dw; v = b2 v + (1 - b2) dw^2; w = kept w - size m / (root sqrt(v) + eps)`.
void adam_step(Tensor& w, Tensor& m, Tensor& v, const Tensor& dw, const AdamFactors& factors);

}  // namespace abh::cuda
