#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/attention_problem.cuh"
#include "chapters/05_multi_head_attention/attention_tiles.cuh"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/precision.hpp"

namespace abh::plain {
decltype(attend_heads) attend_heads;
}
namespace abh::cuda {
// [forward]
namespace {

template <class T>
constexpr std::size_t forward_bytes = sizeof(Four) * ((T::queries + (T::apart ? 2 : 1) * T::keys) *
                                                          pitch<T::columns> +
                                                      T::queries * weights_pitch<T::keys>);

/// Each block takes some queries of one head and goes through the keys tile by tile. Shared memory
/// holds the queries, a tile of keys, another of their values, which may have to take the place of
/// the keys, and the tile's weights; the scores, the running maxima and sums, and the results stay
/// in registers. The kernel is bound by arithmetic: 4 d_k operations for each pair of a query and a
/// key.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads)
    attention_kernel(Problem p, Global<Real> y, Global<Real> row_max, Global<Real> row_sum,
                     Global<const Real> q, Global<const Real> k, Global<const Real> v) {
    threads_at_most(threads);
    using T = Sizes<D, all_short>;
    constexpr int M = T::queries, N = T::keys, R = M / down, C = N / across;
    constexpr int queries = 0, keys = M * pitch<D>, values = keys + (T::apart ? N * pitch<D> : 0),
                  weights = values + N * pitch<D>;
    const Part part(p, p.n_queries, M);
    if (part.first >= part.n_queries) return;
    const auto copy_values = [&](int key) {
        copy<D, N>(values, v + part.keys, key, part.n_keys, p.d_model, p.d_k, p.in_pieces);
    };
    copy<D, M>(queries, q + part.queries, part.first, part.n_queries, p.d_model, p.d_k,
               p.in_pieces);

    Real max[R], sum[R], context[R][D / across];
    for (int i = 0; i < R; ++i) {
        max[i] = lowest;
        sum[i] = 0;  // over this thread's columns
        for (int c = 0; c < D / across; ++c) context[i][c] = 0;
    }
    for (int key = 0; key < part.n_keys; key += N) {
        Hidden<R, C> hidden;
        if (p.may_hide(part.first, key + N - 1)) {
            hidden = Hidden<R, C>(p, part, part.first, key);
            bool matters = !hidden.all;  // or if the weight of a hidden key is not 0
            for (int i = 0; i < R; ++i)
                if (part.first + own_y() + i * down < part.n_queries)
                    matters = matters || !(exp_or_zero(p.fill - max[i]) == 0);
            if (!any_of_block(matters)) {
                if (p.causal && key >= part.first + M) break;  // all later keys are hidden, too
                continue;
            }
        }
        __syncthreads();  // all threads are done with the previous values
        copy<D, N>(keys, k + part.keys, key, part.n_keys, p.d_model, p.d_k, p.in_pieces);
        if (T::apart) copy_values(key);
        __pipeline_wait_prior(T::apart ? 1 : 0);  // for all but the values
        __syncthreads();
        Real s[R][C];
        dot_rows<D>(s, queries, keys);
        // [forward, softmax]
        for (int i = 0; i < R; ++i) {
            Real now = max[i];
            for (int j = 0; j < C; ++j) {
                s[i][j] = hidden(i, j) ? p.fill : p.scale * s[i][j];
                if (key + own_x() + j * across >= part.n_keys) s[i][j] = -infinity<Real>();
                now = s[i][j] > now ? s[i][j] : now;
            }
            now = warp_max<across>(now);
            const Real kept = exp_or_zero(max[i] - now);  // scales down what was summed so far
            max[i] = now;
            sum[i] *= kept;
            for (int c = 0; c < D / across; ++c) context[i][c] *= kept;
            for (int j = 0; j < C; ++j) {
                const Real w = exp_or_zero(s[i][j] - now);
                sum[i] += w;
                put_weight<N>(weights, i, j, w);
            }
        }
        if (!T::apart) {
            __syncthreads();  // all threads are done with the keys
            copy_values(key);
        }
        __pipeline_wait_prior(0);
        __syncthreads();
        add_weighted<D, R, N>(context, weights, values);
    }
    // [forward, result]
    for (int i = 0; i < R; ++i) {
        const int query = part.first + own_y() + i * down;
        const Real all = warp_sum<across>(sum[i]), inverse = 1 / all;
        if (query >= part.n_queries) continue;
        for (int c = 0; c < D / across; ++c) {
            const int column = Columns<D>::column(c);
            if (column < p.d_k)
                y[part.queries + static_cast<Index>(query) * p.d_model + column] =
                    context[i][c] * inverse;
        }
        if (own_x() > 0) continue;
        row_max[part.rows + query] = max[i];
        row_sum[part.rows + query] = all;
    }
}

}  // namespace
// [attend heads]
Tensor attend_heads(const Tensor& q, const Tensor& k, const Tensor& v, Index n_heads,
                    const AttentionMask& mask, const AttentionOptions& options,
                    AttendHeadsCache* cache, Tensor* weights) {
    if (q.dim(2) / n_heads > widest_head)
        return plain::attend_heads(q, k, v, n_heads, mask, options, cache, weights);
    const Shape scores = scores_shape(q, k, v, n_heads, mask);
    Tensor y(q.shape()), row_max(Shape{scores[0], n_heads, scores[2]}), row_sum(row_max.shape());
    if (weights)
        *weights = attention_weights(split_heads(q, n_heads), split_heads(k, n_heads),
                                     mask.dense(scores), options);
    const BlockwiseCache all{q, k, v, y, row_max, row_sum, mask, options};
    if (cache) cache->kept = all;
    if (q.empty()) return y;
    if (precision() == Precision::bf16) {
        attend_in_bf16(scores, all);
        return y;
    }
    const Problem p = problem_of<Real>(scores, q.dim(2), mask, options,
                                       {q.on_device(), k.on_device(), v.on_device()});
    for_sizes(p, [&](auto width, auto is_short) {
        constexpr int D = width();
        constexpr bool all_short = is_short();
        using T = Sizes<D, all_short>;
        const Grid grid = grid_of(scores[0] * n_heads, p.n_queries, T::queries, forward_bytes<T>);
        launch("attention", attention_kernel<D, all_short>, grid, p, y.on_device(),
               row_max.on_device(), row_sum.on_device(), q.on_device(), k.on_device(),
               v.on_device());
    });
    return y;
}

}  // namespace abh::cuda
