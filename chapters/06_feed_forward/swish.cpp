#include "chapters/06_feed_forward/swish.hpp"

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(swish) swish;
decltype(swish_backward) swish_backward;
}  // namespace plain
namespace fast {
decltype(swish) swish;
decltype(swish_backward) swish_backward;
}  // namespace fast
namespace cuda {
decltype(swish) swish;
decltype(swish_backward) swish_backward;
}  // namespace cuda
// [swish]
Tensor swish(const Tensor& x) {
    return Ways{"swish", plain::swish, fast::swish, cuda::swish}(x);
}

Tensor plain::swish(const Tensor& x) {
    Tensor y(x.shape());
    const auto a = vector(x).array();
    vector(y).array() = a / (1 + (-a).exp());
    return y;
}
// [swish: backward]
Tensor swish_backward(const Tensor& dy, const Tensor& x) {
    require_shape(dy.shape(), x.shape(), "swish backward", "dy");
    return Ways{"swish", plain::swish_backward, fast::swish_backward, cuda::swish_backward}(dy, x);
}

Tensor linear_swish_backward(const Tensor& dy, const Tensor& h, Linear& map,
                             const Linear::Cache& cache) {
    const ScopedWay scoped(cache.way);
    return map.backward(swish_backward(dy, h), cache);
}

// forward was:  y = x s,  s = 1 / (1 + exp(-x))     so     ds/dx = s (1 - s)
// hence:        dx = dy (s + x s (1 - s))
Tensor plain::swish_backward(const Tensor& dy, const Tensor& x) {
    Tensor dx(x.shape());
    const auto a = vector(x).array();
    const auto s = (1 + (-a).exp()).inverse().eval();
    vector(dx).array() = vector(dy).array() * (s + a * s * (1 - s));
    return dx;
}

}  // namespace abh
