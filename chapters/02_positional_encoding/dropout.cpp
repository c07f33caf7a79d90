#include "chapters/02_positional_encoding/dropout.hpp"

#include <array>
#include <span>

#include "chapters/02_positional_encoding/dropout.cuh"
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
    if (on_cuda()) {
        Tensor y(x.shape());
        cuda::dropout(y, cache->kept, x, *this);
        return y;
    }
    parallel_ranges(x.size(), 1 << 12, [&](Index begin, Index end) {
        draw(begin, {cache->kept.data() + begin, cache->kept.data() + end});
    });
    return apply(x, cache->kept);
}

void Dropout::draw(Index begin, std::span<std::uint8_t> kept) const {
    std::array<Real, 1 << 10> u;
    for (std::size_t at = 0; at < kept.size(); at += u.size()) {
        const std::size_t n = std::min(u.size(), kept.size() - at);
        stream_.uniform((static_cast<std::uint64_t>(begin) + at) / 4, std::span(u).first(n));
        std::uint8_t* const to = kept.data() + at;
        for (std::size_t i = 0; i < n; ++i) to[i] = u[i] >= p_;
    }
}
// [apply]
Tensor Dropout::apply(const Tensor& x, const Mask& kept) const {
    Tensor y(x.shape());
    if (on_cuda()) return cuda::apply_dropout(y, x, kept, factor()), y;
    parallel_ranges(x.size(), 1 << 14,
                    [=, factor = factor(), from = x.data(), to = y.data(), kept = kept.data()](
                        Index begin, Index end) {
                        for (Index i = begin; i < end; ++i)
                            to[i] = from[i] * (factor * static_cast<Real>(kept[i]));
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
