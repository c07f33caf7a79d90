#include "lib/cuda/gradient.cuh"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [bias]
namespace {

/// The bias, which is read again for every row, stays in the cache.
/// @param n_row  elements of a row; threads take fours only if rows consist of fours
__global__ void add_bias_kernel(Elements all, Index n_row, Global<Real> y, Global<const Real> bias,
                                bool relu) {
    for_elements(all, [&]<int n>(Index i) {
        Some<Real, n> u = some<n>(y)[i];
        if (bias) {
            const Some<Real, n> b = some<n>(bias)[i % (n_row / n)];
            for (int e = 0; e < n; ++e) u.v[e] += b.v[e];
        }
        for (Real& v : u.v) v = relu && v < 0 ? Real(0) : v;
        some<n>(y)[i] = u;
    });
}

}  // namespace

Tensor linear_map(const Tensor& x, const Linear& map, bool relu) {
    const Tensor rows = flat(x), &weight = map.weight.value, &bias = map.bias.value;
    const MatmulOptions options{.transpose_b = true};
    Tensor y({rows.dim(0), map.d_out()});
    if (map.has_bias() && !relu && !x.empty()) {  // the library adds the bias to sums in registers
        multiply(product_of(rows, weight, options, false)
                     .at(y.on_device(), rows.on_device(), weight.on_device()),
                 1, bias.on_device());
    } else {
        abh::multiply(y, rows, weight, options, false);
        if (map.has_bias() || relu)
            launch_elements("bias", add_bias_kernel, y.size(), map.d_out() % 4 == 0, map.d_out(),
                            y.on_device(), bias.empty() ? nullptr : bias.on_device(), relu);
    }
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
