#include <cmath>
#include <utility>

#include "chapters/09_training/optimizer.hpp"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [sgd]
namespace {

/// One thread per weight. Bytes are the limit: five numbers for four operations.
__global__ void sgd_kernel(Index n, Global<Real> w, Global<Real> v, Global<const Real> dw,
                           Real momentum, Real learning_rate) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real speed = momentum * v[i] + dw[i];
        v[i] = speed;
        w[i] -= learning_rate * speed;
    }
}

}  // namespace

void sgd_step(Parameter& w, Tensor& v, Real momentum, Real learning_rate) {
    launch("sgd", sgd_kernel, grid_for(v.size()), v.size(), w.value.on_device(), v.on_device(),
           std::as_const(w.grad()).on_device(), momentum, learning_rate);
}
// [adam]
namespace {

/// What a step of Adam uses for every weight.
struct AdamFactors {
    Real b1, b2, eps, size, root, kept;
};

/// One thread per weight. Bytes are the limit: four numbers read and three written for some 15
/// operations, including a root and a division.
__global__ void adam_kernel(Index n, Global<Real> w, Global<Real> m, Global<Real> v,
                            Global<const Real> dw, AdamFactors f) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real g = dw[i];
        const Real mean = f.b1 * m[i] + (1 - f.b1) * g;
        const Real square = f.b2 * v[i] + (1 - f.b2) * (g * g);
        m[i] = mean;
        v[i] = square;
        w[i] = f.kept * w[i] - f.size * mean / (f.root * sqrt(square) + f.eps);
    }
}

}  // namespace

void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    const auto [b1, b2, eps, weight_decay] = adam.options;
    const Real size = adam.learning_rate / (1 - std::pow(b1, static_cast<Real>(adam.step)));
    const Real root = 1 / std::sqrt(1 - std::pow(b2, static_cast<Real>(adam.step)));
    const AdamFactors factors{b1, b2, eps, size, root, 1 - adam.learning_rate * weight_decay};
    launch("adam", adam_kernel, grid_for(v.size()), v.size(), w.value.on_device(), m.on_device(),
           v.on_device(), std::as_const(w.grad()).on_device(), factors);
}

}  // namespace abh::cuda
