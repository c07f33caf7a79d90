#include "chapters/03_masks/attention_mask.hpp"

#include <algorithm>

#include "chapters/03_masks/masks.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
Mask pads_among(const Ids& keys, std::int32_t pad);
}
namespace cuda {
Mask pads_among(const Ids& keys, std::int32_t pad);
}
// [makers]
AttentionMask::AttentionMask(const Mask& any) : extra(any.rank() == 3 ? over_heads(any) : any) {}

AttentionMask hide_pads(const Ids& keys, std::int32_t pad) {
    require(keys.rank() == 2, "attention mask: keys have shape {}, expected [B, Lk]", keys.shape());
    AttentionMask mask;
    mask.pads = Ways{"mask", plain::pads_among, plain::pads_among, cuda::pads_among}(keys, pad);
    return mask;
}

AttentionMask hide_future() {
    AttentionMask mask;
    mask.causal = true;
    return mask;
}

AttentionMask operator|(const AttentionMask& a, const AttentionMask& b) {
    const auto one = [](const auto& x, const auto& y, const char* what) {
        require(x.empty() || y.empty(), "attention mask: both masks have {}", what);
        return x.empty() ? y : x;
    };
    AttentionMask mask;
    mask.pads = one(a.pads, b.pads, "pads");
    mask.causal = a.causal || b.causal;
    mask.extra = one(a.extra, b.extra, "an extra mask");
    mask.queries = one(a.queries, b.queries, "packed sentences");
    mask.keys = one(a.keys, b.keys, "packed sentences");
    return mask;
}
// [makers: pads]
Mask plain::pads_among(const Ids& keys, std::int32_t pad) {
    Mask pads(keys.shape());
    std::transform(keys.values().begin(), keys.values().end(), pads.values().begin(),
                   [pad](std::int32_t id) -> std::uint8_t { return id == pad; });
    return pads;
}
// [check]
void AttentionMask::check(const Shape& scores) const {
    require(pads.empty() || pads.shape() == Shape{scores[0], scores[3]},
            "attention: pads of shape {} do not fit scores of shape {}", pads.shape(), scores);
    check_mask(extra, scores);
    require(queries.empty() == keys.empty(),
            "attention: only the queries or only the keys are packed, expected both or neither");
    if (!packed()) return;
    require(extra.empty(), "attention: packed sentences take no mask of shape {}", extra.shape());
    require(pads.empty() || keys.begins_with_pad < 0,
            "attention: packed sentence {} begins with a pad", keys.begins_with_pad);
}
// [hides]
bool AttentionMask::hides(Index b, Index h, Index i, Index j) const {
    return (causal && j > i) || (!pads.empty() && pads(b, j) != 0) ||
           (!extra.empty() && at_score(extra, b, h, i, j) != 0);
}
// [dense]
Mask AttentionMask::dense(const Shape& scores) const {
    check(scores);
    if (packed()) return dense_packed();
    if (pads.empty() && !causal) return extra;
    const auto size = [&](int axis, bool varies) {
        return varies || (!extra.empty() && extra.dim(axis) > 1) ? scores[axis] : 1;
    };
    Mask y({size(0, !pads.empty()), size(1, false), size(2, causal), scores[3]});
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index h = 0; h < y.dim(1); ++h)
            for (Index i = 0; i < y.dim(2); ++i)
                for (Index j = 0; j < y.dim(3); ++j) y(b, h, i, j) = hides(b, h, i, j);
    return y;
}
// [dense: packed]
/// Hides all keys of other sentences, too.
Mask AttentionMask::dense_packed() const {
    Mask y = Mask::full({1, 1, queries.rows(), keys.rows()}, 1);
    for (Index b = 0; b < queries.sentences(); ++b)
        for (Index i = 0; i < queries.count(b); ++i)
            for (Index j = 0; j < keys.count(b); ++j)
                y(0, 0, queries.begin(b) + i, keys.begin(b) + j) = hides(b, 0, i, j);
    return y;
}

}  // namespace abh
