#include "chapters/02_positional_encoding/dropout.hpp"

#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(dropout) dropout;
decltype(dropout_backward) dropout_backward;
}  // namespace plain
namespace fast {
decltype(dropout) dropout;
decltype(dropout_backward) dropout_backward;
}  // namespace fast
namespace cuda {
decltype(dropout) dropout;
decltype(dropout_backward) dropout_backward;
}  // namespace cuda
// [construct]
Dropout::Dropout(Real p, Random& random) : p_(p), stream_(random.stream()) {
    require(p >= 0 && p < 1, "dropout: p is {}, expected 0 <= p < 1", p);
}
// [operation]
Tensor Dropout::forward(const Tensor& x, Cache* cache) const {
    if (!cache) return x;
    *cache = {way(), Mask()};
    return p_ == 0 ? x : dropout(x, *this, cache->kept);
}

Tensor Dropout::backward(const Tensor& dy, const Cache& cache) const {
    if (p_ == 0) return dy;
    const ScopedWay scoped(cache.way);
    return dropout_backward(dy, *this, cache.kept);
}

Tensor dropout(const Tensor& x, const Dropout& layer, Mask& kept) {
    kept = Mask(x.shape());
    return Ways{"dropout", plain::dropout, fast::dropout, cuda::dropout}(x, layer, kept);
}

Tensor dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept) {
    require_shape(dy.shape(), kept.shape(), "dropout backward", "dy");
    return Ways{"dropout", plain::dropout_backward, fast::dropout_backward, cuda::dropout_backward}(
        dy, layer, kept);
}
// [plain]
Tensor plain::dropout(const Tensor& x, const Dropout& layer, Mask& kept) {
    for (Index i = 0; std::uint8_t & keep : kept.values())
        keep = layer.stream().uniform(i++) >= layer.p();
    return plain::dropout_backward(x, layer, kept);  // y = x * kept * factor
}
// [plain: backward]
// forward was:  y = x * kept / (1 - p), element by element
// hence:        dx = dy * kept / (1 - p): the same map, with the same `kept`
Tensor plain::dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept) {
    Tensor dx(dy.shape());
    for (Index i = 0; std::uint8_t keep : kept.values()) {
        vector(dx)(i) = vector(dy)(i) * (layer.factor() * static_cast<Real>(keep));
        ++i;
    }
    return dx;
}

}  // namespace abh
