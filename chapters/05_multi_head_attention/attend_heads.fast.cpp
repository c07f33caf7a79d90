#include "chapters/05_multi_head_attention/attend_heads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/fast/exp.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/product.hpp"

namespace abh::fast {
// [sizes]
namespace {

/// At these sizes, a block of scores and what it is multiplied by stay in a core's own caches. Both
/// are whole numbers of lanes. `small_matmul` computes some rows and columns at once: `query_block`
/// is a multiple of the rows, and `key_block` of the columns.
constexpr Index query_block = 48, key_block = 256;
constexpr Real infinity = std::numeric_limits<Real>::infinity();
constexpr Real lowest = std::numeric_limits<Real>::lowest();  // -inf minus itself is NaN

/// Distance from one row of n numbers to the next: an odd number of lanes, because the rows of a
/// matrix whose width is a power of two would all compete for a few lines of the first cache.
constexpr Index pitch(Index n) {
    return whole_lanes(n) | lanes;
}

/// Consecutive rows: queries or keys.
struct Rows {
    Index begin, end;

    Index count() const { return end - begin; }
};

/// Calls `f` for blocks of up to `size` rows that cover `rows`.
template <class F>
void for_blocks(Rows rows, Index size, const F& f) {
    for (Index i = rows.begin; i < rows.end; i += size) f(Rows{i, std::min(i + size, rows.end)});
}
// [hidden keys]
/// Tells which keys are hidden from the queries of one head of one sentence. Keys and queries are
/// counted from the sentence's first.
class HiddenKeys {
public:
    HiddenKeys(const AttentionMask& mask, Index b, Index h, Index n_keys)
        : causal_(mask.causal),
          pads_(mask.pads.empty() ? nullptr : &mask.pads(b, 0)),
          extra_(mask.extra),
          b_(b),
          h_(h),
          n_keys_(n_keys),
          words_{0, n_keys} {
        if (!pads_) return;
        while (words_.begin < n_keys && pads_[words_.begin] != 0) ++words_.begin;
        while (words_.end > words_.begin && pads_[words_.end - 1] != 0) --words_.end;
    }
    /// The keys outside this range are hidden from all of these queries: pads at either end and, if
    /// the future is hidden, the keys after the last query. It begins at a multiple of `lanes`.
    Rows seen_from(Rows queries) const {
        const Index end = causal_ ? std::min(words_.end, queries.end) : words_.end;
        if (end <= words_.begin) return {0, 0};
        return {words_.begin / lanes * lanes, std::min(whole_lanes(end), n_keys_)};
    }
    // [hidden keys: row]
    /// Sets the scores of query i to `value` wherever one of these keys is hidden.
    void overwrite(Real* scores, Index i, Rows keys, Real value) const {
        if (causal_ && keys.end > i + 1)
            std::fill(scores + std::max<Index>(i + 1 - keys.begin, 0), scores + keys.count(),
                      value);
        if (pads_) overwrite(scores, pads_ + keys.begin, keys.count(), value);
        if (extra_.empty()) return;
        const std::uint8_t* const row = &at_score(extra_, b_, h_, i, keys.begin);
        if (extra_.dim(3) > 1)
            overwrite(scores, row, keys.count(), value);
        else if (*row != 0)
            std::fill_n(scores, keys.count(), value);
    }

private:
    static void overwrite(Real* scores, const std::uint8_t* hidden, Index n, Real value) {
        for (Index j = 0; j < n; ++j) scores[j] = hidden[j] != 0 ? value : scores[j];
    }

    bool causal_;
    const std::uint8_t* pads_;  ///< a byte for each key, or null
    const Mask& extra_;
    Index b_, h_, n_keys_;
    Rows words_;  ///< from the first to the last key that is not a pad
};
// [one head]
/// The rows of sentence b among the rows of all sentences.
Rows rows_of(const Tensor& x, const Packing& p, Index b) {
    if (p.empty()) return {b * x.dim(1), (b + 1) * x.dim(1)};
    return {p.begin(b), p.begin(b + 1)};
}

/// One head of one sentence: its rows and columns of the tensors, and what hides its keys.
struct Head {
    Index b, h, d_k, width;  ///< width: d_k, rounded up to whole lanes
    Rows queries, keys;
    HiddenKeys hidden;
    Real scale, fill;

    Head(Index index, Index n_heads, const Tensor& q, const Tensor& k, const AttentionMask& mask,
         const AttentionOptions& o)
        : b(index / n_heads),
          h(index % n_heads),
          d_k(q.dim(2) / n_heads),
          width(whole_lanes(d_k)),
          queries(rows_of(q, mask.queries, b)),
          keys(rows_of(k, mask.keys, b)),
          hidden(mask, b, h, keys.count()),
          scale(scale_of(o, d_k)),
          fill(fill_of(o, d_k)) {}

    /// This head's columns of row `i` of `x`.
    const Real* row(const Tensor& x, Index i) const { return x.data() + i * x.dim(2) + h * d_k; }
    // [one head: copies]
    // Each copy also prefetches the next head's columns. They lie in the same rows, but the rows
    // are far apart, and the processor does not foresee such leaps.

    /// Copies `factor` times this head's columns of these rows of `x`, with zeros beyond d_k.
    void copy(const Tensor& x, Rows rows, Tensor& y, Real factor = 1) const {
        Real* to = y.data();
        for (Index i = rows.begin; i < rows.end; ++i, to += y.dim(1)) {
            prefetch(row(x, i) + d_k, d_k);
            VectorMap(to, d_k) = factor * ConstVectorMap(row(x, i), d_k);
            std::fill(to + d_k, to + width, Real(0));
        }
    }
    /// Copies this head's columns of these rows of `x` as rows, `[width, L]`, with zeros up to
    /// whole lanes. It goes square by square and transposes each in registers.
    void transpose(const Tensor& x, Rows rows, Tensor& y) const {
        for (Index i = 0; i < rows.count(); i += lanes)
            for (Index c = 0; c < d_k; c += lanes) {
                const Real* const corner = row(x, rows.begin + i) + c;
                const Index n_rows = std::min(lanes, rows.count() - i),
                            n_columns = std::min(lanes, d_k - c);
                for (Index r = 0; r < n_rows; ++r) prefetch(corner + r * x.dim(2) + d_k, lanes);
                Real* const to = y.data() + c * y.dim(1) + i;
                if (n_rows == lanes && n_columns == lanes) {
                    transpose_lanes(to, y.dim(1), corner, x.dim(2));
                    continue;
                }
                std::array<Real, lanes * lanes> square{};
                for (Index r = 0; r < n_rows; ++r)
                    std::copy_n(corner + r * x.dim(2), n_columns, square.data() + r * lanes);
                transpose_lanes(to, y.dim(1), square.data(), lanes);
            }
    }
    /// Writes `factor` times the first rows of `y` into this head's columns of these rows of `x`.
    void put(Tensor& x, Rows rows, const Tensor& y, Real factor = 1) const {
        const Real* from = y.data();
        Real* const to = x.data() + h * d_k;
        for (Index i = rows.begin; i < rows.end; ++i, from += y.dim(1)) {
            prefetch(to + i * x.dim(2) + d_k, d_k);
            VectorMap(to + i * x.dim(2), d_k) = factor * ConstVectorMap(from, d_k);
        }
    }
    /// The place of this block of the sentence among the rows of all queries.
    Rows among_all(Rows block) const {
        return {queries.begin + block.begin, queries.begin + block.end};
    }
};
// [all heads]
/// Calls `f(head, scratch)` for each head of each sentence, on all threads. With several sentences,
/// the heads of a sentence share what `make_scratch()` returns; with one, each head gets its own.
template <class MakeScratch, class F>
void for_heads(const Tensor& q, const Tensor& k, Index n_heads, const AttentionMask& mask,
               const AttentionOptions& options, const MakeScratch& make_scratch, const F& f) {
    const Index sentences = mask.packed() ? mask.queries.sentences() : q.dim(0);
    const Index some = sentences > 1 ? n_heads : 1;
    parallel_ranges(sentences * n_heads, some, [&](Index begin, Index end) {
        auto scratch = make_scratch();
        for (Index i = begin; i < end; ++i) f(Head(i, n_heads, q, k, mask, options), scratch);
    });
}

/// Calls `f` for blocks of the keys that some of these queries may see and then, if
/// `hidden_count()`, for blocks of the keys that are hidden from all of them.
template <class HiddenCount, class F>
void for_key_blocks(const Head& head, Rows queries, const HiddenCount& hidden_count, const F& f) {
    const Rows seen = head.hidden.seen_from(queries);
    for_blocks(seen, key_block, f);
    if (seen.count() == head.keys.count() || !hidden_count()) return;
    for_blocks({0, seen.begin}, key_block, f);
    for_blocks({seen.end, head.keys.count()}, key_block, f);
}

/// Whether a hidden key gets a weight from one of n queries with these largest scores. It does if
/// the fill is not far below the largest score, as when the query sees no key.
bool fill_counts(Real fill, const Real* max, Index n) {
    return std::any_of(max, max + n, [&](Real largest) {
        return largest == lowest || std::exp(fill - largest) >= std::numeric_limits<Real>::min();
    });
}
// [forward: one head]
/// A matrix in the form that `small_matmul` takes.
Strided rows_of(const Tensor& t) {
    return Strided::of(t.data(), t.dim(1));
}

using Row = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;

/// The forward pass of one head, in memory that the heads of a sentence may share.
struct Forward {
    Tensor queries, keys, values;  ///< of a block; all, transposed; all
    Tensor scores, context;
    Real *max = nullptr, *sum = nullptr;  ///< of the block's queries, over the keys so far

    Forward(Index d_k, Index n_keys)
        : queries({query_block, pitch(d_k)}),
          keys({whole_lanes(d_k), pitch(n_keys)}),
          values({n_keys, pitch(d_k)}),
          scores({query_block, pitch(key_block)}),
          context({query_block, pitch(d_k)}) {}

    void start(const Head& head, const Tensor& q, Rows block, Real* row_max, Real* row_sum) {
        head.copy(q, head.among_all(block), queries, head.scale);
        matrix(context).topRows(block.count()).setZero();
        std::fill_n(max = row_max, block.count(), lowest);
        std::fill_n(sum = row_sum, block.count(), Real(0));
    }
    // [forward: one block]
    /// Adds these keys' share to the sums of these queries.
    void add(const Head& head, Rows block, Rows of) {
        const Index n = whole_lanes(of.count());
        small_matmul({scores.data(), scores.dim(1), rows_of(queries),
                      rows_of(keys).from(0, of.begin), block.count(), n, head.d_k});
        for (Index i = 0; i < block.count(); ++i) {
            Real* const s = &scores(i, 0);
            head.hidden.overwrite(s, block.begin + i, of, head.fill);
            std::fill(s + of.count(), s + n, -infinity);
            const Real now = std::max(max[i], Row(s, n).maxCoeff());
            if (now > max[i] && sum[i] > 0) {  // what was summed so far must shrink
                const Real kept = std::exp(max[i] - now);
                sum[i] *= kept;
                matrix(context).row(i) *= kept;
            }
            sum[i] += exp_and_sum(s, now, s, n);
            max[i] = now;
        }
        small_matmul({context.data(), context.dim(1), rows_of(scores),
                      rows_of(values).from(of.begin, 0), block.count(), head.width, of.count(), 1,
                      true});
    }
};

}  // namespace
// [forward]
Tensor attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                    const AttentionMask& mask, const AttentionOptions& options,
                    AttendHeadsCache* cache, Tensor* weights) {
    const Shape shape = scores_shape(q, k, v, n_heads, mask);  // [B, H, Lq, Lk]
    Tensor y(q.shape()), row_max({shape[0], n_heads, shape[2]}), row_sum(row_max.shape());
    if (cache) cache->kept = BlockwiseCache{q, k, v, y, row_max, row_sum, mask, options};
    if (weights)  // in a separate pass, so that the result is the same without it
        *weights = attention_weights(split_heads(q, n_heads), split_heads(k, n_heads),
                                     mask.dense(shape), options);
    const auto scratch = [&] { return Forward(q.dim(2) / n_heads, shape[3]); };
    for_heads(q, k, n_heads, mask, options, scratch, [&](const Head& head, Forward& t) {
        head.transpose(k, head.keys, t.keys);
        head.copy(v, head.keys, t.values);
        for_blocks({0, head.queries.count()}, query_block, [&](Rows block) {
            t.start(head, q, block, &row_max(head.b, head.h, block.begin),
                    &row_sum(head.b, head.h, block.begin));
            for_key_blocks(
                head, block, [&] { return fill_counts(head.fill, t.max, block.count()); },
                [&](Rows keys) { t.add(head, block, keys); });
            for (Index i = 0; i < block.count(); ++i) matrix(t.context).row(i) *= 1 / t.sum[i];
            head.put(y, head.among_all(block), t.context);
        });
    });
    return y;
}
// [backward: one head]
namespace {

/// The backward pass of one head, in memory that the heads of a sentence may share.
struct Backward {
    Tensor queries, dy;                ///< a block's
    Tensor keys, keys_across, values;  ///< all; `keys_across` and `values` transposed
    Tensor weights, dscores, dq, dk, dv;
    Tensor dots;  ///< `<dy_i, y_i>` of the block's queries
    const Real *max = nullptr, *sum = nullptr;

    Backward(Index d_k, Index n_keys)
        : queries({query_block, pitch(d_k)}),
          dy(queries.shape()),
          keys({n_keys, pitch(d_k)}),
          keys_across({whole_lanes(d_k), pitch(n_keys)}),
          values(keys_across.shape()),
          weights({query_block, pitch(key_block)}),
          dscores(weights.shape()),
          dq(queries.shape()),
          dk(keys.shape()),
          dv(keys.shape()),
          dots({query_block}) {}

    void start(const Head& head, const BlockwiseCache& cache, const Tensor& dcontext, Rows block) {
        head.copy(cache.q, head.among_all(block), queries, head.scale);
        head.copy(dcontext, head.among_all(block), dy);
        matrix(dq).topRows(block.count()).setZero();
        max = &cache.row_max(head.b, head.h, block.begin);
        sum = &cache.row_sum(head.b, head.h, block.begin);
        for (Index i = 0; i < block.count(); ++i)
            dots(i) = ConstVectorMap(&dy(i, 0), head.d_k)
                          .dot(ConstVectorMap(
                              head.row(cache.context, head.among_all(block).begin + i), head.d_k));
    }
    // [backward: one block]
    /// Adds what these queries and keys contribute through each other to the gradients of both.
    void add(const Head& head, Rows block, Rows of) {
        const Index n_i = block.count(), n_j = of.count(), n = whole_lanes(n_j);
        small_matmul({weights.data(), weights.dim(1), rows_of(queries),
                      rows_of(keys_across).from(0, of.begin), n_i, n, head.d_k});
        small_matmul({dscores.data(), dscores.dim(1), rows_of(dy),
                      rows_of(values).from(0, of.begin), n_i, n, head.d_k});
        for (Index i = 0; i < n_i; ++i) {
            Row w(&weights(i, 0), n), ds(&dscores(i, 0), n);
            head.hidden.overwrite(w.data(), block.begin + i, of, head.fill);
            exp_and_sum(w.data(), max[i], w.data(), n);
            w *= 1 / sum[i];
            ds = w * (ds - dots(i));
            head.hidden.overwrite(ds.data(), block.begin + i, of, 0);
        }
        const Strided w = rows_of(weights), ds = rows_of(dscores);
        small_matmul({&dv(of.begin, 0), dv.dim(1), w.transposed(), rows_of(dy), n_j, head.width,
                      n_i, 1, true});
        small_matmul({&dk(of.begin, 0), dk.dim(1), ds.transposed(), rows_of(queries), n_j,
                      head.width, n_i, 1, true});
        small_matmul({dq.data(), dq.dim(1), ds, rows_of(keys).from(of.begin, 0), n_i, head.width,
                      n_j, 1, true});
    }
};

}  // namespace
// [backward]
// forward was:  y_i = sum_j w_ij v_j,  w_ij = exp(s_ij - max_i) / sum_i
// hence:        dv_j = sum_i w_ij dy_i,  dw_ij = <dy_i, v_j>,  ds_ij = w_ij (dw_ij - <dy_i, y_i>),
//               since sum_j w_ij dw_ij = <dy_i, sum_j w_ij v_j>; then dq and dk as before
AttentionGradients attend_heads_backward(const Tensor& dy, const AttendHeadsCache& all) {
    const auto& cache = std::get<BlockwiseCache>(all.kept);
    const Tensor &q = cache.q, &k = cache.k, &v = cache.v;
    require_shape(dy.shape(), q.shape(), "attention backward", "dy");
    if (q.dim(1) == 0) return {dy, Tensor::zeros(k.shape()), Tensor::zeros(v.shape())};
    const Index longest = scores_shape(q, k, v, all.n_heads, cache.mask)[3];
    AttentionGradients d{Tensor(q.shape()), Tensor(k.shape()), Tensor(v.shape())};
    const auto scratch = [&] { return Backward(q.dim(2) / all.n_heads, longest); };
    for_heads(q, k, all.n_heads, cache.mask, cache.options, scratch,
              [&](const Head& head, Backward& t) {
                  head.copy(k, head.keys, t.keys);
                  head.transpose(k, head.keys, t.keys_across);
                  head.transpose(v, head.keys, t.values);
                  matrix(t.dk).topRows(head.keys.count()).setZero();
                  matrix(t.dv).topRows(head.keys.count()).setZero();
                  for_blocks({0, head.queries.count()}, query_block, [&](Rows block) {
                      t.start(head, cache, dy, block);
                      for_key_blocks(
                          head, block, [&] { return fill_counts(head.fill, t.max, block.count()); },
                          [&](Rows keys) { t.add(head, block, keys); });
                      head.put(d.dq, head.among_all(block), t.dq, head.scale);
                  });
                  head.put(d.dk, head.keys, t.dk);  // the queries were scaled
                  head.put(d.dv, head.keys, t.dv);
              });
    return d;
}

}  // namespace abh::fast
