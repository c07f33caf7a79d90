#include "lib/cuda/gradient.cuh"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [bias]
namespace {

/// Adds the bias, if there is one, and applies ReLU. The bias is read again for every row, but
/// stays in the cache. (The library has a ReLU, too, but does not say that it keeps a NaN.)
/// @param n_row  elements of a row; threads take fours only if rows consist of fours
__global__ void bias_relu_kernel(Elements all, Index n_row, Global<Real> y,
                                 Global<const Real> bias) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(y)[i];
        if (bias) {
            const Some<Real, n> b = some<n>(bias)[i % (n_row / n)];
            for (int e = 0; e < n; ++e) u.v[e] += b.v[e];
        }
        for (Real& v : u.v) v = v < 0 ? Real(0) : v;
        some<n>(y)[i] = u;
    });
}

}  // namespace

Tensor linear_map(const Tensor& x, const Linear& map, bool relu) {
    const Tensor rows = flat(x), &weight = map.weight.value;
    const Real* const bias = map.has_bias() ? map.bias.value.on_device() : nullptr;
    Tensor y({rows.dim(0), map.d_out()});
    if (!y.empty())  // the library adds the bias to sums in registers
        multiply(product_of(rows, weight, {.transpose_b = true}, false)
                     .at(y.on_device(), rows.on_device(), weight.on_device()),
                 1, relu ? nullptr : bias);
    if (relu)
        launch_elements("bias", bias_relu_kernel, y.size(), map.d_out() % 4 == 0, map.d_out(),
                        y.on_device(), bias);
    return y.reshape(x.shape().with(-1, map.d_out()));
}
// [linear]
Tensor linear(const Tensor& x, const Linear& map) {
    return linear_map(x, map, false);
}

Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    const auto [dw, add] = map.weight.gradient.target();
    abh::multiply(dw, flat(dy), flat(cache.x), {.transpose_a = true}, add);
    if (map.has_bias()) add_column_sums(map.bias.gradient, dy);
    return matmul(flat(dy), map.weight.value).reshape(cache.x.shape());
}

}  // namespace abh::cuda
