#include "chapters/10_greedy_decoding/key_values.hpp"

#include <algorithm>

#include "lib/fast/exp.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [one query]
namespace {

/// Softmax in place.
void to_weights(VectorMap scores) {
    scores *= 1 / exp_and_sum(scores.data(), scores.maxCoeff(), scores.data(), scores.size());
}

}  // namespace

Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& rows, const AttentionOptions& o) {
    const Index n = q.dim(0), heads = q.dim(1), d = q.dim(3);
    const Real scale = scale_of(o, d), fill = fill_of(o, d);
    Tensor weights({n, heads, length}), y(q.shape());
    const auto at = [&](const auto& kept, Index h, Index i) {  // where those of query i begin
        return &kept(rows(i / heads), h, 0, 0);
    };
    const auto one_head = [&](Index i, Index next) {
        const ConstMatrixMap k(at(kv.k, i % heads, i), length, d);
        const ConstMatrixMap v(at(kv.v, i % heads, i), length, d);
        const std::uint8_t* const hide = at(hidden, 0, i);
        prefetch(v.data(), v.size());
        VectorMap w(weights.data() + i * length, length);
        w.noalias() = scale * k * ConstVectorMap(q.data() + i * d, d);
        for (Index j = 0; j < length; ++j)
            if (hide[j]) w(j) = fill;
        to_weights(w);
        prefetch(at(kv.k, next % heads, next), k.size());
        VectorMap(y.data() + i * d, d).noalias() = v.transpose() * w;
    };
    const Index grain = std::max<Index>(1, (1 << 14) / (length * d));  // enough work for a thread
    parallel_ranges(n * heads, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) one_head(i, std::min(i + 1, end - 1));
    });
    return y;
}

}  // namespace abh::fast
