#include "lib/linear.hpp"

#include <cmath>

#include "lib/eigen.hpp"
#include "lib/precision.hpp"

namespace abh {
namespace plain {
Tensor linear(const Tensor& x, const Linear& map);
Tensor linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache);
}  // namespace plain
namespace fast {
decltype(plain::linear) linear;
decltype(plain::linear_backward) linear_backward;
}  // namespace fast
namespace cuda {
decltype(plain::linear) linear;
decltype(plain::linear_backward) linear_backward;
}  // namespace cuda
// [plain]
Tensor plain::linear(const Tensor& x, const Linear& map) {
    Tensor y(x.shape().with(-1, map.d_out()));
    matrix(y) = matrix(x) * matrix(map.weight.value).transpose();
    if (map.has_bias()) matrix(y).rowwise() += vector(map.bias.value).transpose();
    return y;
}
// [plain: backward]
// forward was:  y = x W^T + b
// hence:        dW = dy^T x,  db = sum of dy over rows,  dx = dy W
Tensor plain::linear_backward(const Tensor& dy, Linear& map, const Linear::Cache& cache) {
    const Tensor& x = cache.x;
    matrix(map.weight.grad()) += matrix(dy).transpose() * matrix(x);
    if (map.has_bias()) vector(map.bias.grad()) += matrix(dy).colwise().sum();
    Tensor dx(x.shape());
    matrix(dx) = matrix(dy) * matrix(map.weight.value);
    return dx;
}
// [construct]
Linear::Linear(Index d_in, Index d_out, bool with_bias, Random& random) {
    require(d_in >= 1 && d_out >= 1, "linear: d_in {} and d_out {} must be at least 1", d_in,
            d_out);
    const Real bound = 1 / std::sqrt(static_cast<Real>(d_in));
    weight = Parameter(uniform({d_out, d_in}, -bound, bound, random.stream()));
    if (with_bias) bias = Parameter(uniform({d_out}, -bound, bound, random.stream()));
}
// [collect]
void Linear::collect(Parameters& list, const std::string& name) {
    list.push_back({join_name(name, "weight"), &weight});
    if (has_bias()) list.push_back({join_name(name, "bias"), &bias});
}
// [operation]
Tensor Linear::forward(const Tensor& x, Cache* cache) const {
    require(x.rank() >= 1 && x.dim(-1) == d_in(), "linear: x has shape {}, expected [..., {}]",
            x.shape(), d_in());
    require(!cache || precision() != Precision::int8,
            "linear: products in 8 bits have no backward, so nothing can be trained in them");
    require(!weight.stored || (!cache && !has_bias()),
            "linear: a stored weight is for inference without a bias");
    if (weight.stored)
        return weight.stored->multiply(x.reshape({rows(x.shape()), d_in()}))
            .reshape(x.shape().with(-1, d_out()));
    if (cache) *cache = {way(), x};
    return Ways{"linear", plain::linear, fast::linear, cuda::linear}(x, *this);
}

Tensor Linear::backward(const Tensor& dy, const Cache& cache) {
    require_shape(dy.shape(), cache.x.shape().with(-1, d_out()), "linear backward", "dy");
    const ScopedWay scoped(cache.way);
    return Ways{"linear", plain::linear_backward, fast::linear_backward, cuda::linear_backward}(
        dy, *this, cache);
}

}  // namespace abh
