#include "chapters/02_positional_encoding/dropout.fast.hpp"

#include <algorithm>
#include <array>

#include "lib/fast/parallel.hpp"
#include "lib/fast/random.hpp"

namespace abh::fast {
// [backward]
Tensor dropout_backward(const Tensor& dy, const Dropout& layer, const Mask& kept) {
    Tensor dx(dy.shape());
    parallel_ranges(dy.size(), 1 << 14,
                    [=, factor = layer.factor(), from = dy.data(), to = dx.data(),
                     keep = kept.data()](Index begin, Index end) {
                        for (Index i = begin; i < end; ++i)
                            to[i] = from[i] * (factor * static_cast<Real>(keep[i]));
                    });
    return dx;
}
// [draw]
void draw(const Dropout& layer, Index begin, std::span<std::uint8_t> kept) {
    std::array<Real, 1 << 10> u;
    const Real p = layer.p();
    for (std::size_t at = 0; at < kept.size(); at += u.size()) {
        const std::size_t n = std::min(u.size(), kept.size() - at);
        uniform_numbers(layer.stream(), (static_cast<std::uint64_t>(begin) + at) / 4,
                        std::span(u).first(n));
        std::uint8_t* const to = kept.data() + at;
        for (std::size_t i = 0; i < n; ++i) to[i] = u[i] >= p;
    }
}

Tensor dropout(const Tensor& x, const Dropout& layer, Mask& kept) {
    parallel_ranges(x.size(), 1 << 12, [&](Index begin, Index end) {
        draw(layer, begin, {kept.data() + begin, kept.data() + end});
    });
    return fast::dropout_backward(x, layer, kept);  // y = x * kept * factor
}

}  // namespace abh::fast
