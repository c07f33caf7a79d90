#include "chapters/06_feed_forward/add_norm.hpp"

#include "chapters/02_positional_encoding/dropout.fast.hpp"
#include "chapters/06_feed_forward/layer_norm.fast.hpp"
#include "lib/part.hpp"

namespace abh::fast {
// [forward]
Tensor add_norm(const Tensor& x, const Tensor& sublayer, const Dropout& dropout,
                const LayerNorm& norm, AddNormCache* cache) {
    const bool drops = cache && dropout.p() > 0;
    Mask kept = drops ? Mask(x.shape()) : Mask();
    if (cache) cache->dropout.kept = kept;
    const auto add = [&](Index begin, Index end, Tensor& sum) -> const Real* {
        const Index first = begin * x.dim(-1), n = (end - begin) * x.dim(-1);
        const Real *const from = x.data() + first, *const branch = sublayer.data() + first;
        Real* const to = sum.data() + first;
        if (!drops) {
            for (Index i = 0; i < n; ++i) to[i] = from[i] + branch[i];
            return to;
        }
        std::uint8_t* const keep = kept.data() + first;
        draw(dropout, first, {keep, keep + n});  // `some` is a multiple of 4, and so is `first`
        const Real factor = dropout.factor();
        for (Index i = 0; i < n; ++i)
            to[i] = from[i] + branch[i] * (factor * static_cast<Real>(keep[i]));
        return to;
    };
    return normalize_rows(x.shape(), norm, part(cache, &AddNormCache::norm), add);
}
// [backward]
AddNormGradients add_norm_backward(const Tensor& dy, const Dropout& dropout, LayerNorm& norm,
                                   const AddNormCache& cache) {
    if (dropout.p() == 0) {
        const Tensor dsum = layer_norm_backward(dy, norm, cache.norm);
        return {dsum, dsum};
    }
    Tensor dsublayer(dy.shape());
    const auto drop = [&](Index begin, Index end, const Tensor& dsum) {
        const Index first = begin * dy.dim(-1), n = (end - begin) * dy.dim(-1);
        const Real* const from = dsum.data() + first;
        const std::uint8_t* const kept = cache.dropout.kept.data() + first;
        Real* const to = dsublayer.data() + first;
        const Real factor = dropout.factor();
        for (Index i = 0; i < n; ++i) to[i] = from[i] * (factor * static_cast<Real>(kept[i]));
    };
    return {normalize_rows_backward(dy, norm, cache.norm, drop), dsublayer};
}

}  // namespace abh::fast
