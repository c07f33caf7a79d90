#include "chapters/10_greedy_decoding/key_values.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(append) append;
decltype(double_room) double_room;
decltype(copy_places) copy_places;
decltype(attend_cached) attend_cached;
}  // namespace plain
namespace fast {
decltype(attend_cached) attend_cached;
}
namespace cuda {
decltype(append) append;
decltype(double_room) double_room;
decltype(copy_places) copy_places;
decltype(attend_cached) attend_cached;
}  // namespace cuda
// [room]
void append(KeyValues& kv, const Tensor& k, const Tensor& v, Index at, const Ids& places) {
    Ways{"keys and values", plain::append, plain::append, cuda::append}(kv, k, v, at, places);
}

void plain::append(KeyValues& kv, const Tensor& k, const Tensor& v, Index at, const Ids& places) {
    const Index n_heads = k.dim(1);
    for (Index i = 0; i < places.size(); ++i)
        for (Index h = 0; h < n_heads; ++h) {
            const Index head = places(i) * n_heads + h;
            matrix(kv.k, head).row(at) = matrix(k, i * n_heads + h);  // [d_k]
            matrix(kv.v, head).row(at) = matrix(v, i * n_heads + h);
        }
}

Tensor double_room(const Tensor& rows, const Ids& places) {
    return Ways{"keys and values", plain::double_room, plain::double_room, cuda::double_room}(
        rows, places);
}

Tensor plain::double_room(const Tensor& rows, const Ids& places) {
    const Index n_heads = rows.dim(1), room = rows.dim(2);
    Tensor larger(rows.shape().with(2, 2 * room));
    for (Index b : places.values())
        for (Index head = b * n_heads; head < (b + 1) * n_heads; ++head)
            matrix(larger, head).topRows(room) = matrix(rows, head);
    return larger;
}
// [copies]
void copy_places(KeyValues& kv, Index length, const Ids& from, const Ids& to) {
    Ways{"keys and values", plain::copy_places, plain::copy_places, cuda::copy_places}(kv, length,
                                                                                       from, to);
}

void plain::copy_places(KeyValues& kv, Index length, const Ids& from, const Ids& to) {
    const Index n_heads = kv.k.dim(1);
    for (Index i = 0; i < to.size(); ++i)
        for (Index h = 0; h < n_heads; ++h) {
            const Index source = from(i) * n_heads + h, copy = to(i) * n_heads + h;
            matrix(kv.k, copy).topRows(length) = matrix(kv.k, source).topRows(length);
            matrix(kv.v, copy).topRows(length) = matrix(kv.v, source).topRows(length);
        }
}
// [one query]
namespace {

void check(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
           const Ids& places) {
    require_shape(kv.v.shape(), kv.k.shape(), "attend_cached", "v");
    require(q.rank() == 4 && kv.k.rank() == 4, "attend_cached: q {} and k {} must have four axes",
            q.shape(), kv.k.shape());
    const Index n = places.size(), room = kv.k.dim(2);
    require_shape(q.shape(), kv.k.shape().with(0, n).with(2, 1), "attend_cached", "q");
    require_shape(hidden.shape(), {kv.k.dim(0), 1, room, 1}, "attend_cached", "hidden");
    require(length >= 1 && length <= room, "attend_cached: {} keys where there is room for {}",
            length, room);
    for (Index b : places.values())
        require(b >= 0 && b < kv.k.dim(0), "attend_cached: place {} of {}", b, kv.k.dim(0));
}

}  // namespace

Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& places, const AttentionOptions& options) {
    check(q, kv, length, hidden, places);
    return Ways{"attention of one query", plain::attend_cached, fast::attend_cached,
                cuda::attend_cached}(q, kv, length, hidden, places, options);
}
// [plain]
/// Chapter 4's attention over copies of the keys and values that each query sees.
Tensor plain::attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                            const Ids& places, const AttentionOptions& options) {
    const Index n = q.dim(0), n_heads = q.dim(1);
    Tensor k(q.shape().with(2, length)), v(k.shape());  // [n, H, length, d_k]
    Mask mask({n, 1, 1, length});
    for (Index i = 0; i < n; ++i) {
        for (Index h = 0; h < n_heads; ++h) {
            const Index head = places(i) * n_heads + h;
            matrix(k, i * n_heads + h) = matrix(kv.k, head).topRows(length);
            matrix(v, i * n_heads + h) = matrix(kv.v, head).topRows(length);
        }
        for (Index j = 0; j < length; ++j) mask(i, 0, 0, j) = hidden(places(i), 0, j, 0);
    }
    return attention(q, k, v, mask, options);
}

}  // namespace abh
