#include "lib/cuda/gradient.cuh"
#include "lib/cuda/linear.cuh"
#include "lib/cuda/runtime.hpp"
#include "lib/fast/linear.hpp"
#include "lib/matmul.hpp"

namespace abh::cuda {
// [linear]
Tensor linear_map(const Tensor& x, const Linear& map, bool relu) {
    const Tensor rows = flat(x), &weight = map.weight.value;
    Tensor y({rows.dim(0), map.d_out()});
    if (!y.empty())
        multiply(product_of(rows, weight, {.transpose_b = true}, false)
                     .at(y.on_device(), rows.on_device(), weight.on_device()),
                 1, {.bias = map.has_bias() ? map.bias.value.on_device() : nullptr, .relu = relu});
    return y.reshape(x.shape().with(-1, map.d_out()));
}

Tensor linear(const Tensor& x, const Linear& map) {
    return linear_map(x, map, false);
}
// [linear: backward]
namespace {

/// Computes `product`, whose first factor is `dy^T`, and with it the sums that `db` is to become.
/// @return  false if nothing was computed: `db` holds a share already, or the library cannot
bool multiply_and_sum(const Product& product, Gradient& db) {
    if (!db.state().is_zero || db.waits()) return false;
    Real* const sums = db.target().sum.on_device();
    const bool done = multiply(product, 1, {.sums_of_a = sums});
    db.state().is_zero = !done;
    return done;
}

}  // namespace

Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    const Tensor rows = flat(dy), x = flat(cache.x);
    const auto [dw, add] = map.weight.gradient.target();
    const Product product = product_of(rows, x, {.transpose_a = true}, add)
                                .at(dw.on_device(), rows.on_device(), x.on_device());
    if (!map.has_bias()) {
        multiply(product, 1);
    } else if (!multiply_and_sum(product, map.bias.gradient)) {
        multiply(product, 1);
        add_column_sums(map.bias.gradient, rows);
    }
    return matmul(rows, map.weight.value).reshape(cache.x.shape());
}

}  // namespace abh::cuda
