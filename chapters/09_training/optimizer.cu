#include "chapters/09_training/optimizer.cuh"
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [cuda: sgd]
namespace {

/// A thread a weight. Bytes are the limit: three numbers read and two written for four operations.
__global__ void sgd_kernel(Index n, Global<Real> w, Global<Real> v, Global<const Real> dw,
                           Real momentum, Real learning_rate) {
    for (Index i = first_element(); i < n; i += all_threads()) {
        const Real speed = momentum * v[i] + dw[i];
        v[i] = speed;
        w[i] -= learning_rate * speed;
    }
}

}  // namespace

void sgd_step(Tensor& w, Tensor& v, const Tensor& dw, Real momentum, Real learning_rate) {
    launch("sgd", sgd_kernel, grid_for(w.size()), w.size(), w.on_device(), v.on_device(),
           dw.on_device(), momentum, learning_rate);
}
// [cuda: adam]
namespace {

/// A thread a weight. Bytes are the limit: four numbers read and three written for some 15
/// operations, a root and a division among them.
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

void adam_step(Tensor& w, Tensor& m, Tensor& v, const Tensor& dw, const AdamFactors& factors) {
    launch("adam", adam_kernel, grid_for(w.size()), w.size(), w.on_device(), m.on_device(),
           v.on_device(), dw.on_device(), factors);
}

}  // namespace abh::cuda
