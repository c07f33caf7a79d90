#include <array>
#include <map>

#include "lib/cuda/gradient.cuh"
#include "lib/cuda/kernel.cuh"
#include "lib/cuda/linear.cuh"
#include "lib/cuda/runtime.hpp"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [linear]
namespace {

__global__ void add_bias_kernel(Elements all, Global<Real> y, Global<const Real> bias, Index n) {
    for_elements(all, [&]<int width>(Index i) {
        Some<Real, width> row = some<width>(y)[i];
        int column = static_cast<int>(i * width % n);  // one division for all
        for (int e = 0; e < width; ++e) {
            row.v[e] += bias[column];
            column = column + 1 < n ? column + 1 : 0;
        }
        some<width>(y)[i] = row;
    });
}

}  // namespace

std::optional<Tensor> linear_map(const Tensor& x, const Linear& map, bool relu) {
    const Tensor rows = flat(x), &weight = map.weight.value;
    Tensor y({rows.dim(0), map.d_out()});
    const auto computed = [&](const Epilogue& end) {
        const Product product = product_of(rows, weight, {.transpose_b = true}, false);
        return multiply(product.at(y.on_device(), rows.on_device(), weight.on_device()), 1, end,
                        factors16(rows, weight));
    };
    const Real* const bias = map.has_bias() ? map.bias.value.on_device() : nullptr;
    if (!y.empty() && !computed({.bias = bias, .relu = relu})) {
        if (relu) return {};
        computed({});
        launch_elements("add bias", add_bias_kernel, y.size(), true, y.on_device(), bias,
                        map.d_out());
    }
    return y.reshape(x.shape().with(-1, map.d_out()));
}

Tensor linear(const Tensor& x, const Linear& map) {
    return *linear_map(x, map, false);
}
// [linear: backward]
namespace {

/// Whether a product with the sums of its first factor takes less time than a product and a kernel.
/// Measured once for each size and precision, because the library's way of summing up may be a slow
/// one.
bool sums_pay(const Product& p, const Factors16& factors, const Tensor& dy) {
    static std::map<std::array<Index, 4>, bool> known;
    const auto [found, fresh] = known.try_emplace({p.m, p.n, p.k, factors.a != nullptr}, true);
    if (!fresh || device().emulated() || p.k == 0) return found->second;
    Tensor dw({p.m, p.n}), sums({p.m}), parts({parts_of_columns(p.k, p.m), p.m});
    Product product = p.at(dw.on_device(), p.a.data, p.b.data);
    product.add = false;
    const double together = device().milliseconds(
        [&] { multiply(product, 1, {.sums_of_a = sums.on_device()}, factors); });
    const double apart = device().milliseconds([&] {
        multiply(product, 1, {}, factors);
        column_sums(parts, dy, false);
    });
    return found->second = together <= apart;
}

/// Computes `product`, whose first factor is `dy^T`, and with it the sums that `db` is to become.
/// @return  false if nothing was computed: `db` holds a share already, or the library cannot, or
///          not as fast as a kernel
bool multiply_and_sum(const Product& product, const Factors16& factors, const Tensor& dy,
                      Gradient& db) {
    if (!db.state().is_zero || db.waits() || !sums_pay(product, factors, dy)) return false;
    Real* const sums = db.target().sum.on_device();
    const bool done = multiply(product, 1, {.sums_of_a = sums}, factors);
    db.state().is_zero = !done;
    return done;
}

}  // namespace

Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    const Tensor rows = flat(dy), x = flat(cache.x);
    const auto [dw, add] = map.weight.gradient.target();
    const Product product = product_of(rows, x, {.transpose_a = true}, add)
                                .at(dw.on_device(), rows.on_device(), x.on_device());
    const Factors16 factors = factors16(rows, x);
    if (!map.has_bias()) {
        multiply(product, 1, {}, factors);
    } else if (!multiply_and_sum(product, factors, rows, map.bias.gradient)) {
        multiply(product, 1, {}, factors);
        add_column_sums(map.bias.gradient, rows);
    }
    return matmul(rows, map.weight.value).reshape(cache.x.shape());
}

}  // namespace abh::cuda
