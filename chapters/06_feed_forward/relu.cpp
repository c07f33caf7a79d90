#include "chapters/06_feed_forward/relu.hpp"

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(relu) relu;
decltype(relu_backward) relu_backward;
decltype(linear_relu) linear_relu;
}  // namespace plain
namespace fast {
decltype(relu_backward) relu_backward;
decltype(linear_relu) linear_relu;
}  // namespace fast
namespace cuda {
decltype(relu) relu;
decltype(relu_backward) relu_backward;
decltype(linear_relu) linear_relu;
}  // namespace cuda
// [relu: which way]
Tensor relu(const Tensor& x) {
    return Ways{"relu", plain::relu, plain::relu, cuda::relu}(x);
}
// [relu]
Tensor plain::relu(const Tensor& x) {
    Tensor y(x.shape());
    vector(y) = vector(x).unaryExpr([](Real v) { return v < 0 ? Real(0) : v; });
    return y;
}
// [relu: backward, which way]
Tensor relu_backward(const Tensor& dy, const Tensor& y) {
    require_shape(dy.shape(), y.shape(), "relu backward", "dy");
    return Ways{"relu", plain::relu_backward, fast::relu_backward, cuda::relu_backward}(dy, y);
}
// [relu: backward]
// forward was:  y = max(x, 0)
// hence:        dx = dy where x > 0, which is where y > 0; at x = 0 we take 0, as PyTorch does
Tensor plain::relu_backward(const Tensor& dy, const Tensor& y) {
    Tensor dx(y.shape());
    vector(dx).array() = (vector(y).array() > 0).select(vector(dy).array(), Real(0));
    return dx;
}
// [linear and relu]
Tensor linear_relu(const Tensor& x, const Linear& map, Linear::Cache* cache) {
    require(x.rank() >= 1 && x.dim(-1) == map.d_in(), "linear: x has shape {}, expected [..., {}]",
            x.shape(), map.d_in());
    if (cache) *cache = {way(), x};
    return Ways{"linear", plain::linear_relu, fast::linear_relu, cuda::linear_relu}(x, map, cache);
}

Tensor linear_relu_backward(const Tensor& dy, const Tensor& y, Linear& map,
                            const Linear::Cache& cache) {
    const ScopedWay scoped(cache.way);
    return map.backward(relu_backward(dy, y), cache);
}

Tensor plain::linear_relu(const Tensor& x, const Linear& map, Linear::Cache*) {
    return abh::relu(map.forward(x));
}

}  // namespace abh
