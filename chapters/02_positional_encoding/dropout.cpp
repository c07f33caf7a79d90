#include "chapters/02_positional_encoding/dropout.hpp"

#include <array>
#include <span>

#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [construct]
Dropout::Dropout(Real p, Random& random) : p_(p), stream_(random.stream()) {
    require(p >= 0 && p < 1, "dropout: p is {}, expected 0 <= p < 1", p);
}
// [forward]
Tensor Dropout::forward(const Tensor& x, Cache* cache) const {
    const Timed timed("dropout");
    if (!cache) return x;
    cache->kept = Mask();
    if (p_ == 0) return x;
    cache->kept = Mask(x.shape());
    constexpr Index size = 1 << 12;
    parallel_ranges(x.size(), size, [&](Index begin, Index end) {
        std::array<Real, size> u;
        stream_.uniform(static_cast<std::uint64_t>(begin / 4),
                        std::span(u).first(static_cast<std::size_t>(end - begin)));
        std::uint8_t* const kept = cache->kept.data() + begin;
        for (std::size_t i = 0; i < static_cast<std::size_t>(end - begin); ++i)
            kept[i] = u[i] >= p_;
    });
    return apply(x, cache->kept);
}
// [apply]
Tensor Dropout::apply(const Tensor& x, const Mask& kept) const {
    Tensor y(x.shape());
    const Real factor = 1 / (1 - p_);
    parallel_ranges(
        x.size(), 1 << 14,
        [=, from = x.data(), to = y.data(), kept = kept.data()](Index begin, Index end) {
            for (Index i = begin; i < end; ++i) to[i] = from[i] * (kept[i] ? factor : Real(0));
        });
    return y;
}
// [backward]
// forward was:  y = x * kept / (1 - p), element by element
// hence:        dx = dy * kept / (1 - p): the same map, with the same `kept`
Tensor Dropout::backward(const Tensor& dy, const Cache& cache) const {
    const Timed timed("dropout");
    if (p_ == 0) return dy;
    require_shape(dy.shape(), cache.kept.shape(), "dropout backward", "dy");
    return apply(dy, cache.kept);
}

}  // namespace abh
