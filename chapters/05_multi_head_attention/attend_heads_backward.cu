#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/attention_problem.cuh"
#include "chapters/05_multi_head_attention/attention_tiles.cuh"
#include "lib/cuda/bf16.cuh"

namespace abh::plain {
decltype(attend_heads_backward) attend_heads_backward;
}
namespace abh::cuda {
// [row sums]
namespace {

/// Each thread computes `<dy_i, y_i>` for one query and head, bound by the bytes of dy and y. It
/// adds in the same order as `dot_rows` adds `<dy_i, v_j>`, so where all weight is on one key, the
/// two are equal and their difference, which is a gradient, is exactly 0.
/// @tparam T  Real, or Half: then the two are equal but for round-off, and dy is what it is there
template <class T>
__global__ void row_sums_kernel(Problem p, Index n, Global<Real> sums, Global<const T> dy,
                                Global<const Real> y) {
    for (Index r = first_element(); r < n; r += all_threads()) {
        const Index i = r % p.n_queries, h = r / p.n_queries % p.n_heads,
                    b = r / p.n_queries / p.n_heads;
        const Sentence of(p.query_offsets, static_cast<int>(b), p.n_queries);
        if (i >= of.count) continue;
        const Index row = (of.begin + i) * p.d_model + h * p.d_k;
        Real sum = 0;
        for (int c = 0; c < p.d_k; ++c) sum += real_of(dy[row + c]) * y[row + c];
        sums[r] = sum;
    }
}
// [backward]
/// How many blocks are to fit into a multiprocessor at least. 0 leaves it to the compiler, whose
/// choice is good but for heads of 32 columns, where dk and dv would spill on an H200.
template <int D, bool all_short>
[[maybe_unused]] constexpr int backward_blocks = D == 32 && !all_short ? 4 : 0;

template <class T>
constexpr std::size_t dq_bytes = sizeof(Four) * (2 * (T::own + T::others) * pitch<T::columns> +
                                                 T::own * weights_pitch<T::others>);

/// dq: each block takes some queries of one head, keeps their dq in registers, and goes through the
/// keys tile by tile. Three products, so 6 d_k operations for each pair.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads, backward_blocks<D, all_short>)
    dq_kernel(Problem p, Rows rows, Global<Real> dq, Global<const Real> dy, Global<const Real> q,
              Global<const Real> k, Global<const Real> v) {
    threads_at_most(threads);
    using T = Sizes<D, all_short>;
    constexpr int M = T::own, N = T::others, R = M / down, C = N / across;
    constexpr int queries = 0, dys = queries + M * pitch<D>, keys = dys + M * pitch<D>,
                  values = keys + N * pitch<D>, dscores = values + N * pitch<D>;
    const Part part(p, p.n_queries, M);
    if (part.first >= part.n_queries) return;
    copy<D, M>(queries, q + part.queries, part.first, part.n_queries, p.d_model, p.d_k,
               p.in_pieces);
    copy<D, M>(dys, dy + part.queries, part.first, part.n_queries, p.d_model, p.d_k, p.in_pieces);
    Row row[R];
    Real sum[R][D / across];
    for (int i = 0; i < R; ++i) {
        const int query = part.first + own_y() + i * down, last = part.n_queries - 1;
        row[i] = Row(rows, part.rows + (query < last ? query : last));
        for (int c = 0; c < D / across; ++c) sum[i][c] = 0;
    }
    // a hidden score is a constant, so its gradient is 0
    const int end = p.causal && part.first + M < part.n_keys ? part.first + M : part.n_keys;
    for (int key = 0; key < end; key += N) {
        Hidden<R, C> hidden;
        if (p.may_hide(part.first, key + N - 1)) {
            hidden = Hidden<R, C>(p, part, part.first, key);
            if (!any_of_block(!hidden.all)) continue;
        }
        __syncthreads();
        copy<D, N>(keys, k + part.keys, key, part.n_keys, p.d_model, p.d_k, p.in_pieces);
        copy<D, N>(values, v + part.keys, key, part.n_keys, p.d_model, p.d_k, p.in_pieces);
        __pipeline_wait_prior(0);
        __syncthreads();
        Real s[R][C], dw[R][C];
        dot_rows<D>(s, queries, keys);
        dot_rows<D>(dw, dys, values);
        for (int i = 0; i < R; ++i)
            for (int j = 0; j < C; ++j) {
                const bool none = hidden(i, j) || key + own_x() + j * across >= part.n_keys;
                const Real ds =
                    none ? Real(0) : row[i].weight(p.scale * s[i][j]) * (dw[i][j] - row[i].dot);
                put_weight<N>(dscores, i, j, ds);
            }
        __syncwarp();  // the same half of a warp writes and reads a row of dscores
        add_weighted<D, R, N>(sum, dscores, keys);
    }
    for (int i = 0; i < R; ++i) {
        const int query = part.first + own_y() + i * down;
        if (query >= part.n_queries) continue;
        for (int c = 0; c < D / across; ++c) {
            const int column = Columns<D>::column(c);
            if (column < p.d_k)
                dq[part.queries + static_cast<Index>(query) * p.d_model + column] =
                    sum[i][c] * p.scale;
        }
    }
}
// [backward, keys]
template <class T>
constexpr std::size_t dkv_bytes = sizeof(Four) * (2 * (T::own + T::others) * pitch<T::columns> +
                                                  T::others * weights_pitch<T::own>);

/// dk and dv: each block takes some keys of one head, keeps their dk and dv in registers, and goes
/// through the queries tile by tile. Four products, so 8 d_k operations for each pair.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads, backward_blocks<D, all_short>)
    dkv_kernel(Problem p, Rows rows, Global<Real> dk, Global<Real> dv, Global<const Real> dy,
               Global<const Real> q, Global<const Real> k, Global<const Real> v) {
    threads_at_most(threads);
    using T = Sizes<D, all_short>;
    constexpr int M = T::others, N = T::own, R = M / down, C = N / across;
    constexpr int keys = 0, values = keys + N * pitch<D>, queries = values + N * pitch<D>,
                  dys = queries + M * pitch<D>, weights = dys + M * pitch<D>;
    const Part part(p, p.n_keys, N);
    if (part.first >= part.n_keys) return;
    copy<D, N>(keys, k + part.keys, part.first, part.n_keys, p.d_model, p.d_k, p.in_pieces);
    copy<D, N>(values, v + part.keys, part.first, part.n_keys, p.d_model, p.d_k, p.in_pieces);
    Real sum_k[N / down][D / across], sum_v[N / down][D / across];
    for (int i = 0; i < N / down; ++i)
        for (int c = 0; c < D / across; ++c) sum_k[i][c] = sum_v[i][c] = 0;
    for (int query = 0; query < part.n_queries; query += M) {
        Row row[R];
        bool exists[R];
        for (int i = 0; i < R; ++i) {
            const int at = query + own_y() + i * down, last = part.n_queries - 1;
            exists[i] = at <= last;
            row[i] = Row(rows, part.rows + (exists[i] ? at : last));
        }
        Hidden<R, C> hidden;
        if (p.may_hide(query, part.first + N - 1)) {
            hidden = Hidden<R, C>(p, part, query, part.first);
            bool matters = !hidden.all;
            for (int i = 0; i < R; ++i)
                matters = matters || (exists[i] && !(row[i].weight(p.fill) == 0));
            if (!any_of_block(matters)) continue;
        }
        __syncthreads();
        copy<D, M>(queries, q + part.queries, query, part.n_queries, p.d_model, p.d_k, p.in_pieces);
        copy<D, M>(dys, dy + part.queries, query, part.n_queries, p.d_model, p.d_k, p.in_pieces);
        __pipeline_wait_prior(0);
        __syncthreads();
        // [backward, keys, tile]
        Real s[R][C], dw[R][C];
        dot_rows<D>(s, queries, keys);
        dot_rows<D>(dw, dys, values);
        for (int i = 0; i < R; ++i)
            for (int j = 0; j < C; ++j) {
                const Real w =
                    exists[i] ? row[i].weight(hidden(i, j) ? p.fill : p.scale * s[i][j]) : Real(0);
                put_weight<N>(weights, i, j, w);
                s[i][j] = hidden(i, j) || !exists[i] ? Real(0) : w * (dw[i][j] - row[i].dot);
            }
        __syncthreads();
        add_weighted_transposed<D, N / down, M>(sum_v, weights, dys);
        __syncthreads();
        for (int i = 0; i < R; ++i)
            for (int j = 0; j < C; ++j) put_weight<N>(weights, i, j, s[i][j]);
        __syncthreads();
        add_weighted_transposed<D, N / down, M>(sum_k, weights, queries);
    }
    for (int i = 0; i < N / down; ++i) {
        const int key = part.first + transposed_row(i);
        if (key >= part.n_keys) continue;
        for (int c = 0; c < D / across; ++c) {
            const int column = Columns<D>::column(c);
            if (column >= p.d_k) continue;
            const Index at = part.keys + static_cast<Index>(key) * p.d_model + column;
            dk[at] = sum_k[i][c] * p.scale;
            dv[at] = sum_v[i][c];
        }
    }
}

}  // namespace
// [attend heads: backward]
AttentionGradients attend_heads_backward(const Tensor& dy, const AttendHeadsCache& all) {
    if (!std::holds_alternative<BlockwiseCache>(all.kept))
        return plain::attend_heads_backward(dy, all);
    const auto& cache = std::get<BlockwiseCache>(all.kept);
    const Tensor &q = cache.q, &k = cache.k, &v = cache.v;
    require_shape(dy.shape(), q.shape(), "attention backward", "dy");
    if (q.empty()) return {dy, Tensor::zeros(k.shape()), Tensor::zeros(v.shape())};
    AttentionGradients d{Tensor(q.shape()), Tensor(k.shape()), Tensor(v.shape())};
    const Shape scores = scores_shape(q, k, v, all.n_heads, cache.mask);
    const Problem p =
        problem_of<Real>(scores, q.dim(2), cache.mask, cache.options,
                         {q.on_device(), k.on_device(), v.on_device(), dy.on_device()});
    Tensor dots(cache.row_max.shape());  // [B, H, Lq]
    const auto sum_rows = [&]<class T>(const T* numbers) {
        launch("attention row sums", row_sums_kernel<T>, grid_for(dots.size()), p, dots.size(),
               dots.on_device(), numbers, cache.context.on_device());
    };
    const Rows rows{cache.row_max.on_device(), cache.row_sum.on_device(), dots.on_device()};
    if (precision() == Precision::bf16) {
        sum_rows(in_bf16(dy).get());
        attend_backward_in_bf16(scores, cache, dy, rows, d);
        return d;
    }
    sum_rows(dy.on_device());
    const Index heads = scores[0] * all.n_heads;
    for_sizes(p, [&](auto width, auto is_short) {
        constexpr int D = width();
        constexpr bool all_short = is_short();
        using T = Sizes<D, all_short>;
        launch("attention dq", dq_kernel<D, all_short>,
               grid_of(heads, p.n_queries, T::own, dq_bytes<T>), p, rows, d.dq.on_device(),
               dy.on_device(), q.on_device(), k.on_device(), v.on_device());
        launch("attention dk, dv", dkv_kernel<D, all_short>,
               grid_of(heads, p.n_keys, T::own, dkv_bytes<T>), p, rows, d.dk.on_device(),
               d.dv.on_device(), dy.on_device(), q.on_device(), k.on_device(), v.on_device());
    });
    return d;
}

}  // namespace abh::cuda
