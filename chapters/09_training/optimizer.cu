#include <cmath>
#include <utility>

#include "chapters/09_training/optimizer.hpp"
#include "lib/cuda/gradient.cuh"
#include "lib/cuda/list.cuh"

namespace abh::cuda {
// [sgd]
namespace {

/// A weight, its velocity and its gradient.
struct SgdTensors {
    Real *w, *v;
    const Real* dw;

    bool operator==(const SgdTensors&) const = default;
};

__device__ void sgd_element(Global<Real> w, Global<Real> v, Global<const Real> dw, Index i,
                            Real momentum, Real learning_rate) {
    const Real speed = momentum * v[i] + dw[i];
    v[i] = speed;
    w[i] -= learning_rate * speed;
}

/// One thread per weight. Bytes are the limit: five numbers for four operations.
__global__ void sgd_kernel(Index n, Global<Real> w, Global<Real> v, Global<const Real> dw,
                           Real momentum, Real learning_rate) {
    for (Index i = first_element(); i < n; i += all_threads())
        sgd_element(w, v, dw, i, momentum, learning_rate);
}

/// The same for the weights of a whole list.
__global__ void sgd_list_kernel(Global<const Listed<SgdTensors>> list, Index length, Real momentum,
                                Real learning_rate) {
    const Chunk<SgdTensors> chunk = chunk_of(list, length, blockIdx.x);
    const Global<Real> w(chunk.tensors.w), v(chunk.tensors.v);
    const Global<const Real> dw(chunk.tensors.dw);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x)
        sgd_element(w, v, dw, i, momentum, learning_rate);
}

SgdTensors tensors_of(Parameter& w, Tensor& v) {
    return {w.value.on_device(), v.on_device(), std::as_const(w.grad()).on_device()};
}

}  // namespace

void sgd_step(Parameter& w, Tensor& v, Real momentum, Real learning_rate) {
    const SgdTensors t = tensors_of(w, v);
    launch("sgd", sgd_kernel, grid_for(v.size()), v.size(), t.w, t.v, t.dw, momentum,
           learning_rate);
}

void sgd_steps(const Parameters& weights, std::span<Tensor> v, Real momentum, Real learning_rate) {
    complete(weights);
    List<SgdTensors> list;
    for (std::size_t i = 0; i < v.size(); ++i)
        list.add(tensors_of(*weights[i].parameter, v[i]), v[i].size());
    launch_list("sgd", sgd_list_kernel, list, momentum, learning_rate);
}
// [adam]
namespace {

/// What a step of Adam uses for every weight.
struct AdamFactors {
    Real b1, b2, eps, size, root, kept;
};

AdamFactors factors_of(const AdamStep& adam) {
    const auto [b1, b2, eps, weight_decay] = adam.options;
    const Real size = adam.learning_rate / (1 - std::pow(b1, static_cast<Real>(adam.step)));
    const Real root = 1 / std::sqrt(1 - std::pow(b2, static_cast<Real>(adam.step)));
    return {b1, b2, eps, size, root, 1 - adam.learning_rate * weight_decay};
}

/// A weight, both running means and its gradient.
struct AdamTensors {
    Real *w, *m, *v;
    const Real* dw;

    bool operator==(const AdamTensors&) const = default;
};

__device__ void adam_element(Global<Real> w, Global<Real> m, Global<Real> v, Global<const Real> dw,
                             Index i, const AdamFactors& f) {
    const Real g = dw[i];
    const Real mean = f.b1 * m[i] + (1 - f.b1) * g;
    const Real square = f.b2 * v[i] + (1 - f.b2) * (g * g);
    m[i] = mean;
    v[i] = square;
    w[i] = f.kept * w[i] - f.size * mean / (f.root * sqrt(square) + f.eps);
}

/// One thread per weight. Bytes are the limit: four numbers read and three written for some 15
/// operations, including a root and a division.
__global__ void adam_kernel(Index n, Global<Real> w, Global<Real> m, Global<Real> v,
                            Global<const Real> dw, AdamFactors f) {
    for (Index i = first_element(); i < n; i += all_threads()) adam_element(w, m, v, dw, i, f);
}

/// The same for the weights of a whole list.
__global__ void adam_list_kernel(Global<const Listed<AdamTensors>> list, Index length,
                                 AdamFactors f) {
    const Chunk<AdamTensors> chunk = chunk_of(list, length, blockIdx.x);
    const Global<Real> w(chunk.tensors.w), m(chunk.tensors.m), v(chunk.tensors.v);
    const Global<const Real> dw(chunk.tensors.dw);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x)
        adam_element(w, m, v, dw, i, f);
}

AdamTensors tensors_of(Parameter& w, Tensor& m, Tensor& v) {
    return {w.value.on_device(), m.on_device(), v.on_device(), std::as_const(w.grad()).on_device()};
}

}  // namespace

void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    const AdamTensors t = tensors_of(w, m, v);
    launch("adam", adam_kernel, grid_for(v.size()), v.size(), t.w, t.m, t.v, t.dw,
           factors_of(adam));
}

void adam_steps(const Parameters& weights, std::span<Tensor> m, std::span<Tensor> v,
                const AdamStep& adam) {
    complete(weights);
    List<AdamTensors> list;
    for (std::size_t i = 0; i < v.size(); ++i)
        list.add(tensors_of(*weights[i].parameter, m[i], v[i]), v[i].size());
    launch_list("adam", adam_list_kernel, list, factors_of(adam));
}

}  // namespace abh::cuda
