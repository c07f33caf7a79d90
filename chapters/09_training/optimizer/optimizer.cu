#include <cmath>
#include <span>
#include <utility>

#include "chapters/09_training/optimizer/optimizer.hpp"
#include "lib/cuda/bf16.cuh"
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

/// Bytes are the limit: five numbers for four operations.
__global__ void sgd_kernel(Global<const Listed<SgdTensors>> list, Index length, Real momentum,
                           Real learning_rate) {
    const Chunk<SgdTensors> chunk = chunk_of(list, length, blockIdx.x);
    const auto w = in_device_memory(chunk.tensors.w), v = in_device_memory(chunk.tensors.v);
    const auto dw = in_device_memory(chunk.tensors.dw);
    for_elements(chunk, [&]<int n>(Index i) {
        Some<Real, n> weight = some<n>(w)[i], speed = some<n>(v)[i];
        const Some<Real, n> g = some<n>(dw)[i];
        for (int e = 0; e < n; ++e) {
            speed.v[e] = momentum * speed.v[e] + g.v[e];
            weight.v[e] -= learning_rate * speed.v[e];
        }
        some<n>(v)[i] = speed;
        some<n>(w)[i] = weight;
    });
}

}  // namespace

void sgd_steps(const Parameters& weights, std::span<Tensor> v, Real momentum, Real learning_rate) {
    complete(weights);
    List<SgdTensors> list;
    for (std::size_t i = 0; i < v.size(); ++i) {
        Parameter& w = *weights[i].parameter;
        list.add(v[i].size(), w.value.on_device(), v[i].on_device(),
                 std::as_const(w.grad()).on_device());
    }
    launch_list("sgd", sgd_kernel, list, momentum, learning_rate);
}

void sgd_step(Parameter& w, Tensor& v, Real momentum, Real learning_rate) {
    sgd_steps({{"", &w}}, {&v, 1}, momentum, learning_rate);
}
// [adam]
namespace {

/// What a step of Adam uses for every weight.
struct AdamFactors {
    Real b1, b2, eps, size, root, kept;
};

/// A weight, both running means, the weight in bf16 if products read it so, and its gradient.
struct AdamTensors {
    Real *w, *m, *v;
    Half* w16;
    const Real* dw;

    bool operator==(const AdamTensors&) const = default;
};

/// Bytes are the limit: four numbers read and three written for some 15 operations, including a
/// root and a division. A copy in bf16 costs two bytes more, instead of the six of a launch of its
/// own.
__global__ void adam_kernel(Global<const Listed<AdamTensors>> list, Index length, AdamFactors f) {
    const Chunk<AdamTensors> chunk = chunk_of(list, length, blockIdx.x);
    const auto w = in_device_memory(chunk.tensors.w), m = in_device_memory(chunk.tensors.m),
               v = in_device_memory(chunk.tensors.v);
    const auto dw = in_device_memory(chunk.tensors.dw);
    Half* const w16 = chunk.tensors.w16;
    for_elements(chunk, [&]<int n>(Index i) {
        Some<Real, n> weight = some<n>(w)[i], mean = some<n>(m)[i], square = some<n>(v)[i];
        const Some<Real, n> gradient = some<n>(dw)[i];
        for (int e = 0; e < n; ++e) {
            const Real g = gradient.v[e];
            mean.v[e] = f.b1 * mean.v[e] + (1 - f.b1) * g;
            square.v[e] = f.b2 * square.v[e] + (1 - f.b2) * (g * g);
            weight.v[e] =
                f.kept * weight.v[e] - f.size * mean.v[e] / (f.root * sqrt(square.v[e]) + f.eps);
        }
        some<n>(m)[i] = mean;
        some<n>(v)[i] = square;
        some<n>(w)[i] = weight;
        if (!w16) return;
        Some<Half, n> halves;
        for (int e = 0; e < n; ++e) halves.v[e] = half_of(weight.v[e]);
        some<n>(in_device_memory(w16))[i] = halves;
    });
}

}  // namespace

void adam_steps(const Parameters& weights, std::span<Tensor> m, std::span<Tensor> v,
                const AdamStep& adam) {
    const auto [b1, b2, eps, weight_decay] = adam.options;
    const Real size = adam.learning_rate / (1 - std::pow(b1, static_cast<Real>(adam.step)));
    const Real root = 1 / std::sqrt(1 - std::pow(b2, static_cast<Real>(adam.step)));
    complete(weights);
    List<AdamTensors> list;
    for (std::size_t i = 0; i < v.size(); ++i) {
        Parameter& w = *weights[i].parameter;
        const auto [value, halves] = to_write_with_halves(w.value);
        list.add(v[i].size(), value, m[i].on_device(), v[i].on_device(), halves,
                 std::as_const(w.grad()).on_device());
    }
    launch_list("adam", adam_kernel, list,
                AdamFactors{b1, b2, eps, size, root, 1 - adam.learning_rate * weight_decay});
}

void adam_step(Parameter& w, Tensor& m, Tensor& v, const AdamStep& adam) {
    adam_steps({{"", &w}}, {&m, 1}, {&v, 1}, adam);
}

}  // namespace abh::cuda
