#include "lib/fast/linear.hpp"

#include <algorithm>

#include "lib/eigen.hpp"
#include "lib/fast/fewer_bits.hpp"
#include "lib/fast/gradient.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/matmul.hpp"
#include "lib/precision.hpp"

namespace abh::fast {
// [forward]
namespace {

/// @param bias  may be empty
void add_bias(Tensor& y, const Tensor& bias, bool relu) {
    const auto cut = [](Real v) { return v < 0 ? Real(0) : v; };
    constexpr Index some = 1 << 13;  // elements that a thread takes at a time, in whole rows
    parallel_ranges(y.dim(0), std::max<Index>(1, some / y.dim(1)), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            auto row = matrix(y).row(r).array();
            if (bias.empty())
                row = row.unaryExpr(cut);
            else if (relu)
                row = (row + vector(bias).transpose().array()).unaryExpr(cut);
            else
                row += vector(bias).transpose().array();
        }
    });
}

}  // namespace

Tensor linear_map(const Tensor& x, const Linear& map, bool relu) {
    const Shape shape = x.shape().with(-1, map.d_out());
    if (precision() == Precision::int8) return linear_in_int8(flat(x), map, relu).reshape(shape);
    Tensor y = matmul(flat(x), map.weight.value, {.transpose_b = true});
    if (map.has_bias() || relu) add_bias(y, map.bias.value, relu);
    return y.reshape(shape);
}

Tensor linear(const Tensor& x, const Linear& map) {
    return linear_map(x, map, false);
}
// [backward]
Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    fast::add_product(map.weight.gradient, flat(dy), flat(cache.x));  // [d_out, d_in]
    if (map.has_bias()) add_column_sums(map.bias.grad(), dy);
    return matmul(flat(dy), map.weight.value).reshape(cache.x.shape());
}

}  // namespace abh::fast
