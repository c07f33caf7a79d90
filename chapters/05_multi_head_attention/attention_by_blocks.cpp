#include "chapters/05_multi_head_attention/attention_by_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chapters/05_multi_head_attention/attention_by_blocks.cuh"
#include "chapters/05_multi_head_attention/multi_head_attention.hpp"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"
#include "lib/small_matmul.hpp"

namespace abh {
// [sizes]
namespace {

constexpr Index query_block = 48, key_block = 128;
constexpr Real infinity = std::numeric_limits<Real>::infinity();
constexpr Real lowest = std::numeric_limits<Real>::lowest();  // -inf less itself is no number

/// The shape of `x`, unpacked, after `split_heads`.
Shape heads_of(const Tensor& x, Index n_heads, const Packing& p) {
    require(x.rank() == 3 && n_heads >= 1 && x.dim(2) % n_heads == 0,
            "attention by blocks: x has shape {}, its last axis is not divisible by {} heads",
            x.shape(), n_heads);
    const Index d_k = x.dim(2) / n_heads;
    if (p.empty()) return {x.dim(0), n_heads, x.dim(1), d_k};
    require(x.dim(0) == 1 && x.dim(1) == p.rows(),
            "attention by blocks: x has shape {}, packed are {} rows", x.shape(), p.rows());
    return {p.sentences(), n_heads, p.length, d_k};
}

/// The rows of one sentence among those of all.
struct Rows {
    Index first, count;
};

Rows rows_of(const Tensor& x, const Packing& p, Index b) {
    return p.empty() ? Rows{b * x.dim(1), x.dim(1)} : Rows{p.begin(b), p.count(b)};
}
// [rows]
/// A head's part of these rows, `lanes` times a whole number long.
struct HeadRows {
    Tensor copy;  ///< keeps them, where they are a copy
    const Real* data;
    Index stride;

    const Real* operator[](Index i) const { return data + i * stride; }
    Strided from(Index i) const { return {(*this)[i], stride, 1}; }
};
// [one head]
/// One head of one sentence: its columns of the tensors, and what hides its keys.
struct Head {
    Index b, h, d_k, width;  ///< width: d_k in whole lanes
    Rows queries, keys;
    const Mask& mask;
    Real scale, fill;
    bool hide;

    Head(Index index, Index n_heads, const Tensor& q, const Tensor& k, const Mask& m,
         const AttentionOptions& o, const Packed& packed)
        : b(index / n_heads),
          h(index % n_heads),
          d_k(q.dim(2) / n_heads),
          width(whole_lanes(d_k)),
          queries(rows_of(q, packed.queries, b)),
          keys(rows_of(k, packed.keys, b)),
          mask(m),
          scale(scale_of(o, d_k)),
          fill(fill_of(o, d_k)),
          hide(o.mask_meaning == MaskMeaning::hide) {}
    // [one head: rows]
    /// This head's columns of row `i` of `x`.
    const Real* row(const Tensor& x, Index i) const { return x.data() + i * x.dim(2) + h * d_k; }

    /// This head's columns of some rows of `x`; where these are not whole lanes a copy, with zeros
    /// beyond d_k.
    HeadRows part(const Tensor& x, const Rows& of) const {
        if (width == d_k) return {{}, row(x, of.first), x.dim(2)};
        Tensor y = Tensor::zeros({of.count, width});
        for (Index i = 0; i < of.count; ++i)
            std::copy_n(row(x, of.first + i), d_k, y.data() + i * width);
        return {y, y.data(), width};
    }
    /// Writes `factor` times this head's columns of the keys' rows of `x` as rows: `[d_k, L]`, L in
    /// whole lanes, zeros beyond.
    void transpose(const Tensor& x, Real factor, Tensor& y) const {
        const Index d_model = x.dim(2);
        matrix(y).middleCols(keys.count, whole_lanes(keys.count) - keys.count).setZero();
        matrix(y).leftCols(keys.count) =
            factor * ConstMatrixMap(x.data() + keys.first * d_model, keys.count, d_model)
                         .middleCols(h * d_k, d_k)
                         .transpose();
    }
    /// Writes `factor` times `rows` into this head's columns of `x`, from row `first` on.
    void put(Tensor& x, Index first, const Tensor& rows, Index count, Real factor = 1) const {
        for (Index i = 0; i < count; ++i)
            VectorMap(x.data() + (first + i) * x.dim(2) + h * d_k, d_k) =
                factor * matrix(rows).row(i).head(d_k).transpose();
    }
    // [one head: mask]
    /// Overwrites what the mask hides from query i among keys `first` to `first + count - 1`.
    void overwrite(Real* scores, Index i, Index first, Index count, Real value) const {
        if (mask.empty()) return;
        const auto at = [&](int axis, Index index) { return mask.dim(axis) == 1 ? 0 : index; };
        const std::uint8_t* const row = &mask(at(0, b), at(1, h), at(2, i), at(3, first));
        if (mask.dim(3) == 1) {
            if ((*row != 0) == hide) std::fill_n(scores, count, value);
            return;
        }
        for (Index j = 0; j < count; ++j) scores[j] = (row[j] != 0) == hide ? value : scores[j];
    }
};
// [all heads]
using Row = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;

/// Calls `f(head, scratch)` for each head of each sentence, on all threads. The heads of a sentence
/// share what `make_scratch()` returns.
template <class MakeScratch, class F>
void for_heads(const Tensor& q, const Tensor& k, Index n_heads, const Mask& mask,
               const AttentionOptions& options, const Packed& packed,
               const MakeScratch& make_scratch, const F& f) {
    const Index sentences = packed.empty() ? q.dim(0) : packed.queries.sentences();
    const Index some = sentences > 1 ? n_heads : 1;
    parallel_ranges(sentences * n_heads, some, [&](Index begin, Index end) {
        auto scratch = make_scratch();
        for (Index i = begin; i < end; ++i)
            f(Head(i, n_heads, q, k, mask, options, packed), scratch);
    });
}

// [too wide]
/// Whether the device's tiles have no room for a head's columns.
bool too_wide(Index d_k) {
    return on_cuda() && d_k > cuda::widest_head;
}

/// What `attention_by_blocks` does then. The cache gets no `largest`: that is how the backward pass
/// knows, wherever it runs.
Tensor attention_of_wide_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                               const Mask& mask, const AttentionOptions& options,
                               BlockAttentionCache* cache) {
    if (cache) *cache = {q, k, v, {}, {}, {}, mask, n_heads, options, {}};
    return join_heads(attention(split_heads(q, n_heads), split_heads(k, n_heads),
                                split_heads(v, n_heads), mask, options));
}

AttentionGradients attention_of_wide_heads_backward(const Tensor& dcontext,
                                                    const BlockAttentionCache& cache) {
    const auto split = [&](const Tensor& x) { return split_heads(x, cache.n_heads); };
    AttentionCache plain;
    attention(split(cache.q), split(cache.k), split(cache.v), cache.mask, cache.options, &plain);
    const AttentionGradients d = attention_backward(split(dcontext), plain);
    return {join_heads(d.dq), join_heads(d.dk), join_heads(d.dv)};
}

// [unpacked]
/// What `attention_by_blocks` does with packed sentences on a device, whose tiles know none.
Tensor attention_unpacked(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                          const Mask& mask, const AttentionOptions& options,
                          BlockAttentionCache* cache, const Packed& packed) {
    const Tensor y = attention_by_blocks(unpack(q, packed.queries), unpack(k, packed.keys),
                                         unpack(v, packed.keys), n_heads, mask, options, cache);
    if (cache) cache->packed = packed;
    return pack(y, packed.queries);
}

AttentionGradients attention_unpacked_backward(const Tensor& dcontext,
                                               const BlockAttentionCache& cache) {
    BlockAttentionCache padded = cache;
    padded.packed = {};
    const auto& [queries, keys] = cache.packed;
    const AttentionGradients d = attention_by_blocks_backward(unpack(dcontext, queries), padded);
    return {pack(d.dq, queries), pack(d.dk, keys), pack(d.dv, keys)};
}

}  // namespace
// [by blocks]
Tensor attention_by_blocks(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                           const Mask& mask, const AttentionOptions& options,
                           BlockAttentionCache* cache, const Packed& packed) {
    const Timed timed("attention by blocks");
    const Shape of_q = heads_of(q, n_heads, packed.queries),
                of_k = heads_of(k, n_heads, packed.keys);
    check_attention(of_q, of_k, heads_of(v, n_heads, packed.keys), mask);
    require(k.shape() == v.shape(), "attention by blocks: key has shape {}, value {}", k.shape(),
            v.shape());
    require(packed.queries.empty() == packed.keys.empty(),
            "attention by blocks: either queries or keys are packed, expected both or none");
    if (on_cuda() && !packed.empty())
        return attention_unpacked(q, k, v, n_heads, mask, options, cache, packed);
    const Index d_k = of_q[3];
    if (too_wide(d_k)) return attention_of_wide_heads(q, k, v, n_heads, mask, options, cache);
    Tensor y(q.shape());
    Tensor largest({of_q[0], n_heads, of_q[2]}), total(largest.shape());
    if (cache) *cache = {q, k, v, y, largest, total, mask, n_heads, options, packed};
    if (on_cuda())
        return cuda::attention_by_blocks(y, largest, total, q, k, v, n_heads, mask, options), y;
    struct Scratch {
        Tensor keys, scores, context;
    };
    const auto scratch = [&] {
        return Scratch{Tensor({d_k, whole_lanes(of_k[2])}), Tensor({query_block, key_block}),
                       Tensor({query_block, whole_lanes(d_k)})};
    };
    // [by blocks: each head]
    for_heads(q, k, n_heads, mask, options, packed, scratch, [&](const Head& head, Scratch& t) {
        auto& [keys, scores, context] = t;
        const Index n_queries = head.queries.count, n_keys = head.keys.count;
        const HeadRows queries = head.part(q, head.queries), values = head.part(v, head.keys);
        head.transpose(k, head.scale, keys);
        for (Index i0 = 0; i0 < n_queries; i0 += query_block) {
            const Index n_i = std::min(query_block, n_queries - i0);
            Real* const max = &largest(head.b, head.h, i0);
            Real* const sum = &total(head.b, head.h, i0);
            std::fill_n(max, n_i, lowest);
            std::fill_n(sum, n_i, Real(0));
            for (Index j0 = 0; j0 < n_keys; j0 += key_block) {
                const Index n_j = std::min(key_block, n_keys - j0), n = whole_lanes(n_j);
                small_matmul(scores.data(), key_block, queries.from(i0), &keys(0, j0), keys.dim(1),
                             n_i, n, head.d_k, false);
                for (Index i = 0; i < n_i; ++i) {
                    Real* const s = &scores(i, 0);
                    head.overwrite(s, i0 + i, j0, n_j, head.fill);
                    std::fill(s + n_j, s + n, -infinity);
                    Row row(s, n);
                    const Real now = std::max(max[i], row.maxCoeff());
                    if (j0 > 0 && now > max[i]) {  // what was summed so far shrinks
                        const Real kept = std::exp(max[i] - now);
                        sum[i] *= kept;
                        matrix(context).row(i) *= kept;
                    }
                    sum[i] += exp_and_sum(s, now, s, n);
                    max[i] = now;
                }
                small_matmul(context.data(), head.width, {scores.data(), key_block, 1}, values[j0],
                             values.stride, n_i, head.width, n_j, j0 > 0);
            }
            for (Index i = 0; i < n_i; ++i) matrix(context).row(i) *= 1 / sum[i];
            head.put(y, head.queries.first + i0, context, n_i);
        }
    });
    return y;
}
// [by blocks: backward]
// forward was:  y_i = sum_j w_ij v_j,  w_ij = exp(s_ij - largest_i) / total_i
// hence:        dv_j = sum_i w_ij dy_i,  dw_ij = <dy_i, v_j>,  ds_ij = w_ij (dw_ij - <dy_i, y_i>),
//               since sum_j w_ij dw_ij = <dy_i, sum_j w_ij v_j>; then dq and dk as before
AttentionGradients attention_by_blocks_backward(const Tensor& dcontext,
                                                const BlockAttentionCache& cache) {
    const Timed timed("attention by blocks");
    const Tensor &q = cache.q, &k = cache.k, &v = cache.v;
    const bool packed = !cache.packed.empty();
    const auto is_padded = [](const Tensor& x, const Packing& p) {
        return x.dim(0) == p.sentences() && x.dim(1) == p.length;
    };
    // so it is where the forward pass was the device's
    if (packed && is_padded(q, cache.packed.queries) && is_padded(k, cache.packed.keys))
        return attention_unpacked_backward(dcontext, cache);
    require_shape(dcontext.shape(), q.shape(), "attention by blocks backward", "dcontext");
    if (q.dim(1) == 0) return {dcontext, Tensor::zeros(k.shape()), Tensor::zeros(v.shape())};
    const Index longest = packed ? cache.packed.keys.length : k.dim(1);
    const Index d_k = q.dim(2) / cache.n_heads, width = whole_lanes(d_k);
    if ((too_wide(d_k) && !packed) || (!q.empty() && cache.largest.empty()))
        return attention_of_wide_heads_backward(dcontext, cache);
    AttentionGradients d{Tensor(q.shape()), Tensor(k.shape()), Tensor(v.shape())};
    if (on_cuda() && !packed) return cuda::attention_by_blocks_backward(d, dcontext, cache), d;
    struct Scratch {
        Tensor keys, values, weights, dscores, dq, dk, dv;
    };
    const auto scratch = [&] {
        const Shape transposed{d_k, whole_lanes(longest)}, block{query_block, key_block};
        return Scratch{
            Tensor(transposed),      Tensor(transposed),           Tensor(block),
            Tensor(block),           Tensor({query_block, width}), Tensor({longest, width}),
            Tensor({longest, width})};
    };
    // [by blocks: backward, each head]
    for_heads(
        q, k, cache.n_heads, cache.mask, cache.options, cache.packed, scratch,
        [&](const Head& head, Scratch& t) {
            auto& [keys, values, weights, dscores, dq, dk, dv] = t;
            const Index n_queries = head.queries.count, n_keys = head.keys.count;
            const HeadRows queries = head.part(q, head.queries),
                           dy = head.part(dcontext, head.queries),
                           y = head.part(cache.context, head.queries),
                           key_rows = head.part(k, head.keys);
            head.transpose(k, head.scale, keys);
            head.transpose(v, 1, values);
            for (Index i0 = 0; i0 < n_queries; i0 += query_block) {
                const Index n_i = std::min(query_block, n_queries - i0);
                for (Index j0 = 0; j0 < n_keys; j0 += key_block) {
                    const Index n_j = std::min(key_block, n_keys - j0), n = whole_lanes(n_j);
                    small_matmul(weights.data(), key_block, queries.from(i0), &keys(0, j0),
                                 keys.dim(1), n_i, n, head.d_k, false);
                    small_matmul(dscores.data(), key_block, dy.from(i0), &values(0, j0),
                                 keys.dim(1), n_i, n, head.d_k, false);
                    for (Index i = 0; i < n_i; ++i) {
                        Real* const w = &weights(i, 0);
                        head.overwrite(w, i0 + i, j0, n_j, head.fill);
                        Row row(w, n), ds(&dscores(i, 0), n);
                        exp_and_sum(w, cache.largest(head.b, head.h, i0 + i), w, n);
                        row *= 1 / cache.total(head.b, head.h, i0 + i);
                        ds = row * (ds - ConstVectorMap(dy[i0 + i], head.d_k)
                                             .dot(ConstVectorMap(y[i0 + i], head.d_k)));
                        head.overwrite(ds.data(), i0 + i, j0, n_j, 0);
                    }
                    const Strided w{weights.data(), key_block, 1}, ds{dscores.data(), key_block, 1};
                    small_matmul(&dv(j0, 0), width, w.transposed(), dy[i0], dy.stride, n_j, width,
                                 n_i, i0 > 0);
                    small_matmul(&dk(j0, 0), width, ds.transposed(), queries[i0], queries.stride,
                                 n_j, width, n_i, i0 > 0);
                    small_matmul(dq.data(), width, ds, key_rows[j0], key_rows.stride, n_i, width,
                                 n_j, j0 > 0);
                }
                head.put(d.dq, head.queries.first + i0, dq, n_i, head.scale);
            }
            head.put(d.dk, head.keys.first, dk, n_keys, head.scale);
            head.put(d.dv, head.keys.first, dv, n_keys);
        });
    return d;
}

}  // namespace abh
