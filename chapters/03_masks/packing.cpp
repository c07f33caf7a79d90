#include "chapters/03_masks/packing.hpp"

#include <algorithm>

#include "chapters/03_masks/packing.cuh"

namespace abh {
// [packing]
namespace {

/// The place behind the last word.
Index end_of(const Ids& ids, Index b, std::int32_t pad) {
    Index end = ids.dim(1);
    while (end > 0 && ids(b, end - 1) == pad) --end;
    return end;
}

}  // namespace

Packing leave_out_pads(const Ids& a, const Ids& b, std::int32_t pad) {
    require(a.rank() == 2 && a.shape() == b.shape(),
            "packing: ids have shapes {} and {}, expected [B, L] twice", a.shape(), b.shape());
    Packing packing{Ids({a.dim(0) + 1}), a.dim(1)};
    packing.first(0) = 0;
    for (Index s = 0; s < a.dim(0); ++s) {
        const Index end = std::max(end_of(a, s, pad), end_of(b, s, pad));
        packing.first(s + 1) =
            packing.first(s) + static_cast<std::int32_t>(end == 0 ? packing.length : end);
    }
    return packing;
}

Packing leave_out_pads(const Ids& ids, std::int32_t pad) {
    return leave_out_pads(ids, ids, pad);
}
// [pack]
namespace {

void check(const Shape& padded, const Packing& p) {
    require(!p.empty() && padded[0] == p.sentences() && padded[1] == p.length,
            "pack: the packing is of {} sentences of length {}, x has shape {}", p.sentences(),
            p.length, padded);
}

/// Calls `f(of_packed, of_padded, count)` for each sentence, with elements of `n` a place.
template <class F>
void for_sentences(const Packing& p, Index n, const F& f) {
    for (Index b = 0; b < p.sentences(); ++b) f(p.begin(b) * n, b * p.length * n, p.count(b) * n);
}

}  // namespace

Tensor pack(const Tensor& x, const Packing& packing) {
    require(x.rank() == 3, "pack: x has shape {}, expected [B, L, n]", x.shape());
    check(x.shape(), packing);
    Tensor y({1, packing.rows(), x.dim(2)});
    if (on_cuda()) return cuda::pack(y, x, packing), y;
    for_sentences(packing, x.dim(2), [&](Index to, Index from, Index count) {
        std::copy_n(x.data() + from, count, y.data() + to);
    });
    return y;
}

Ids pack(const Ids& ids, const Packing& packing) {
    require(ids.rank() == 2, "pack: ids have shape {}, expected [B, L]", ids.shape());
    check(ids.shape(), packing);
    Ids packed({1, packing.rows()});
    for_sentences(packing, 1, [&](Index to, Index from, Index count) {
        std::copy_n(ids.data() + from, count, packed.data() + to);
    });
    return packed;
}
// [unpack]
Tensor unpack(const Tensor& x, const Packing& packing) {
    require(!packing.empty() && x.rank() == 3 && x.dim(0) == 1 && x.dim(1) == packing.rows(),
            "unpack: x has shape {}, expected [1, {}, n]", x.shape(), packing.rows());
    Tensor y({packing.sentences(), packing.length, x.dim(2)});
    if (on_cuda()) return cuda::unpack(y, x, packing), y;
    y.fill(0);
    for_sentences(packing, x.dim(2), [&](Index from, Index to, Index count) {
        std::copy_n(x.data() + from, count, y.data() + to);
    });
    return y;
}

}  // namespace abh
