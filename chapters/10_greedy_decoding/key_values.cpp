#include "chapters/10_greedy_decoding/key_values.hpp"

#include "lib/eigen.hpp"
#include "lib/way.hpp"

namespace abh {
namespace plain {
decltype(append) append;
decltype(gather) gather;
decltype(attend_cached) attend_cached;
}  // namespace plain
namespace fast {
decltype(attend_cached) attend_cached;
}
namespace cuda {
decltype(append) append;
decltype(gather) gather;
decltype(attend_cached) attend_cached;
}  // namespace cuda
// [rows]
void append(KeyValues& kv, Index length, const Tensor& k, const Tensor& v) {
    Ways{"keys and values", plain::append, plain::append, cuda::append}(kv, length, k, v);
}

void plain::append(KeyValues& kv, Index length, const Tensor& k, const Tensor& v) {
    for (Index head = 0; head < matrices(k.shape()); ++head) {
        matrix(kv.k, head).row(length) = matrix(k, head);  // [d_k]
        matrix(kv.v, head).row(length) = matrix(v, head);
    }
}

KeyValues gather(const KeyValues& kv, Index length, const Ids& rows, Index room) {
    return Ways{"keys and values", plain::gather, plain::gather, cuda::gather}(kv, length, rows,
                                                                               room);
}

KeyValues plain::gather(const KeyValues& kv, Index length, const Ids& rows, Index room) {
    const Index n_heads = kv.k.dim(1);
    const Shape shape = kv.k.shape().with(0, rows.size()).with(2, room);
    KeyValues y{Tensor(shape), Tensor(shape)};
    for (Index i = 0; i < rows.size(); ++i)
        for (Index h = 0; h < n_heads; ++h) {
            const Index to = i * n_heads + h, from = rows(i) * n_heads + h;
            matrix(y.k, to).topRows(length) = matrix(kv.k, from).topRows(length);
            matrix(y.v, to).topRows(length) = matrix(kv.v, from).topRows(length);
        }
    return y;
}
// [one query]
namespace {

void check(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
           const Ids& rows) {
    require_shape(kv.v.shape(), kv.k.shape(), "attend_cached", "v");
    require(q.rank() == 4 && kv.k.rank() == 4, "attend_cached: q {} and k {} must have four axes",
            q.shape(), kv.k.shape());
    const Index n = rows.size(), room = kv.k.dim(2);
    require_shape(q.shape(), kv.k.shape().with(0, n).with(2, 1), "attend_cached", "q");
    require_shape(hidden.shape(), {kv.k.dim(0), 1, room, 1}, "attend_cached", "hidden");
    require(length >= 1 && length <= room, "attend_cached: {} keys, expected 1 to {}", length,
            room);
    for (Index b : rows.values())
        require(b >= 0 && b < kv.k.dim(0), "attend_cached: row {}, but there are {} rows", b,
                kv.k.dim(0));
}

}  // namespace

Tensor attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                     const Ids& rows, const AttentionOptions& options) {
    check(q, kv, length, hidden, rows);
    return Ways{"attention of one query", plain::attend_cached, fast::attend_cached,
                cuda::attend_cached}(q, kv, length, hidden, rows, options);
}
// [plain]
/// Gathers the keys and values that each query sees, and calls chapter 4's attention.
Tensor plain::attend_cached(const Tensor& q, const KeyValues& kv, Index length, const Mask& hidden,
                            const Ids& rows, const AttentionOptions& options) {
    const KeyValues seen = plain::gather(kv, length, rows, length);  // [n, H, length, d_k]
    Mask mask({rows.size(), 1, 1, length});
    for (Index i = 0; i < rows.size(); ++i)
        for (Index j = 0; j < length; ++j) mask(i, 0, 0, j) = hidden(rows(i), 0, j, 0);
    return attention(q, seen.k, seen.v, mask, options);
}

}  // namespace abh
