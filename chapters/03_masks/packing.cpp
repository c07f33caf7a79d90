#include "chapters/03_masks/packing.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
Tensor pack_rows(const Tensor& x, const Packing& packing);
Tensor unpack_rows(const Tensor& x, const Packing& packing);
}  // namespace plain
namespace cuda {
Tensor pack_rows(const Tensor& x, const Packing& packing);
Tensor unpack_rows(const Tensor& x, const Packing& packing);
}  // namespace cuda
// [packing]
namespace {

/// The place after the last word, or after the first place if there is no word.
std::int32_t end_of(const Ids& ids, Index b, std::int32_t pad) {
    Index end = ids.dim(1);
    while (end > 1 && ids(b, end - 1) == pad) --end;
    return static_cast<std::int32_t>(end);
}

}  // namespace

Packing leave_out_pads(const Ids& ids, std::int32_t pad) {
    require(ids.rank() == 2, "packing: ids have shape {}, expected [B, L]", ids.shape());
    Packing packing{Ids({ids.dim(0) + 1}), ids.dim(1)};
    packing.offsets(0) = 0;
    for (Index b = 0; b < ids.dim(0); ++b) {
        packing.offsets(b + 1) = packing.offsets(b) + end_of(ids, b, pad);
        if (packing.length > 0 && ids(b, 0) == pad) packing.begins_with_pad = b;
    }
    return packing;
}
// [checks]
namespace {

void check(const Shape& padded, const Packing& p) {
    require(padded[0] == p.sentences() && padded[1] == p.length,
            "pack: the packing has {} sentences of length {}, but x has shape {}", p.sentences(),
            p.length, padded);
}

}  // namespace
// [pack]
Tensor pack(const Tensor& x, const Packing& packing) {
    if (packing.empty()) return x;
    require(x.rank() == 3, "pack: x has shape {}, expected [B, L, n]", x.shape());
    check(x.shape(), packing);
    return Ways{"pack", plain::pack_rows, plain::pack_rows, cuda::pack_rows}(x, packing);
}

Tensor plain::pack_rows(const Tensor& x, const Packing& p) {
    Tensor y({1, p.rows(), x.dim(2)});
    for (Index b = 0; b < p.sentences(); ++b)
        matrix(y).middleRows(p.begin(b), p.count(b)) = matrix(x, b).topRows(p.count(b));
    return y;
}

Ids pack(const Ids& ids, const Packing& p) {
    if (p.empty()) return ids;
    require(ids.rank() == 2, "pack: ids have shape {}, expected [B, L]", ids.shape());
    check(ids.shape(), p);
    Ids packed({1, p.rows()});
    for (Index b = 0; b < p.sentences(); ++b)
        for (Index i = 0; i < p.count(b); ++i) packed(0, p.begin(b) + i) = ids(b, i);
    return packed;
}
// [unpack]
Tensor unpack(const Tensor& x, const Packing& packing) {
    if (packing.empty()) return x;
    require(x.rank() == 3 && x.dim(0) == 1 && x.dim(1) == packing.rows(),
            "unpack: x has shape {}, expected [1, {}, n]", x.shape(), packing.rows());
    return Ways{"pack", plain::unpack_rows, plain::unpack_rows, cuda::unpack_rows}(x, packing);
}

Tensor plain::unpack_rows(const Tensor& x, const Packing& p) {
    Tensor y = Tensor::zeros({p.sentences(), p.length, x.dim(2)});
    for (Index b = 0; b < p.sentences(); ++b)
        matrix(y, b).topRows(p.count(b)) = matrix(x).middleRows(p.begin(b), p.count(b));
    return y;
}

}  // namespace abh
