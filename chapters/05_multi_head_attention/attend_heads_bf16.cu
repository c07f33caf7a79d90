#include "chapters/05_multi_head_attention/attention_halves.cuh"

namespace abh::cuda {
// [forward in bf16]
namespace {

/// How many blocks are to fit into a multiprocessor at least, or 0: see `backward_blocks`.
template <int D, int widest, int blocks>
[[maybe_unused]] constexpr int fitting = D <= widest ? blocks : 0;

/// Like `attention_kernel`, but both products run on tensor cores: the scores become weights, and
/// these a factor of the second product, in the registers of one warp. So no weight is written to
/// shared memory, and a warp meets the others only where tiles arrive.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads_of<all_short>, fitting<D, 32, 4>)
    attention_bf16_kernel(Problem p, Global<Real> y, Global<Real> row_max, Global<Real> row_sum,
                          Global<const Half> q, Global<const Half> k, Global<const Half> v) {
    threads_at_most(threads_of<all_short>);
    using T = Halves<D, all_short>;
    constexpr int M = T::own, N = T::keys, C = N / 4;
    const Part part(p, p.n_queries, M, Order::last_first);
    if (part.first >= part.n_queries) return;
    const auto own = dynamic_shared<Half>();
    Stages<D, T, N> tiles{p, k + part.keys, v + part.keys, part.n_keys, own + M * T::pitch};
    copy_halves<D, T, M>(own, q + part.queries, part.first, part.n_queries, p);
    tiles.begin(0);
    FragmentC context[D / 8];
    Real max[2] = {lowest, lowest}, sum[2] = {};  // the sums over this lane's columns
    for (int key = 0; key < part.n_keys; key += N) {
        Hidden<2, C, QueriesByKeys> hidden;
        if (p.may_hide(part.first, key + N - 1)) {
            hidden = Hidden<2, C, QueriesByKeys>(p, part, part.first, key);
            bool matters = !hidden.all;  // or if the weight of a hidden key is not 0
            for (int i = 0; i < 2; ++i)
                if (part.first + own_row(i) < part.n_queries)
                    matters = matters || !(quick_exp(p.fill - max[i]) == 0);
            if (!any_of_block(matters)) {
                if (p.causal && key >= part.first + M) break;  // all later keys are hidden, too
                continue;
            }
        }
        const int next = key + N, in_sight = p.causal ? part.first + M : part.n_keys;
        const auto keys = tiles.arrived(key, next < part.n_keys && next < in_sight);
        FragmentC s[N / 8];
        dot_rows<D, T, N>(s, own, keys);
        for (int i = 0; i < 2; ++i) {
            Real now = max[i];
            for (int j = 0; j < C; ++j) {
                Real score = hidden(i, j) ? p.fill : p.scale * number(s, i, j);
                if (key + own_column(j) >= part.n_keys) score = -infinity<Real>();
                now = score > now ? score : now;
                number(s, i, j) = static_cast<float>(score);
            }
            now = warp_max<4>(now);  // the four lanes of a row
            const float kept = quick_exp(max[i] - now);
            max[i] = now;
            sum[i] *= kept;
            for (int c = 0; c < D / 4; ++c) number(context, i, c) *= kept;
            for (int j = 0; j < C; ++j) {
                number(s, i, j) = quick_exp(number(s, i, j) - now);
                sum[i] += number(s, i, j);
            }
        }
        add_weighted<D, T, N>(context, s, keys + N * T::pitch);
    }
    for (int i = 0; i < 2; ++i) {
        const int query = part.first + own_row(i);
        const Real all = warp_sum<4>(sum[i]);
        if (query >= part.n_queries) continue;
        write_row<D>(y + part.queries, part.first, context, 1 / all, i, p);
        if (lane() % 4 > 0) continue;
        row_max[part.rows + query] = max[i];
        row_sum[part.rows + query] = all;
    }
}

}  // namespace

void attend_in_bf16(const Shape& scores, const BlockwiseCache& all) {
    const Half *const q = in_bf16(all.q).get(), *const k = in_bf16(all.k).get(),
                      *const v = in_bf16(all.v).get();  // which the tensors keep
    const Problem p = problem_of<Half>(scores, all.q.dim(2), all.mask, all.options, {q, k, v});
    for_sizes(p, [&](auto width, auto is_short) {
        constexpr int D = width();
        constexpr bool all_short = is_short();
        using T = Halves<D, all_short>;
        const Grid grid =
            grid_of(scores[0] * scores[1], p.n_queries, T::own, T::bytes(1, T::keys), T::threads);
        Tensor y = all.context, row_max = all.row_max, row_sum = all.row_sum;
        launch("attention, bf16", attention_bf16_kernel<D, all_short>, grid, p, y.on_device(),
               row_max.on_device(), row_sum.on_device(), q, k, v);
    });
}

// [backward in bf16]
namespace {

/// dq: like `dq_kernel`. The gradients of the scores become a factor in registers, as the weights
/// do forward.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads_of<all_short>, fitting<D, 64, 3>)
    dq_bf16_kernel(Problem p, Rows rows, Global<Real> dq, Global<const Half> dy,
                   Global<const Half> q, Global<const Half> k, Global<const Half> v) {
    threads_at_most(threads_of<all_short>);
    using T = Halves<D, all_short>;
    constexpr int M = T::own, N = T::others, C = N / 4;
    const Part part(p, p.n_queries, M, Order::last_first);
    if (part.first >= part.n_queries) return;
    const auto own = dynamic_shared<Half>(), own_dy = own + M * T::pitch;
    Stages<D, T, N> tiles{p, k + part.keys, v + part.keys, part.n_keys, own_dy + M * T::pitch};
    copy_halves<D, T, M>(own, q + part.queries, part.first, part.n_queries, p);
    copy_halves<D, T, M>(own_dy, dy + part.queries, part.first, part.n_queries, p);
    tiles.begin(0);
    Row row[2];
    for (int i = 0; i < 2; ++i) {
        const int query = part.first + own_row(i), last = part.n_queries - 1;
        row[i] = Row(rows, part.rows + (query < last ? query : last));
    }
    FragmentC sum[D / 8];
    const int end = p.causal && part.first + M < part.n_keys ? part.first + M : part.n_keys;
    for (int key = 0; key < end; key += N) {
        Hidden<2, C, QueriesByKeys> hidden;
        if (p.may_hide(part.first, key + N - 1)) {
            hidden = Hidden<2, C, QueriesByKeys>(p, part, part.first, key);
            if (!any_of_block(!hidden.all)) continue;
        }
        const auto keys = tiles.arrived(key, key + N < end);
        FragmentC s[N / 8], dw[N / 8];
        dot_rows<D, T, N>(s, own, keys);
        dot_rows<D, T, N>(dw, own_dy, keys + N * T::pitch);
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < C; ++j) {
                const bool none = hidden(i, j) || key + own_column(j) >= part.n_keys;
                const Real w = row[i].quick_weight(p.scale * number(s, i, j));
                number(s, i, j) =
                    none ? 0 : static_cast<float>(w * (number(dw, i, j) - row[i].dot));
            }
        add_weighted<D, T, N>(sum, s, keys);
    }
    for (int i = 0; i < 2; ++i)
        if (part.first + own_row(i) < part.n_queries)
            write_row<D>(dq + part.queries, part.first, sum, p.scale, i, p);
}

/// dk and dv: like `dkv_kernel`, but a warp's rows are keys. So it computes the scores transposed,
/// and these lie as both of its last two products need them.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads_of<all_short>, fitting<D, 32, 3>)
    dkv_bf16_kernel(Problem p, Rows rows, Global<Real> dk, Global<Real> dv, Global<const Half> dy,
                    Global<const Half> q, Global<const Half> k, Global<const Half> v) {
    threads_at_most(threads_of<all_short>);
    using T = Halves<D, all_short>;
    constexpr int M = T::others, N = T::own, C = M / 4;
    const Part part(p, p.n_keys, N, Order::first_first);
    if (part.first >= part.n_keys) return;
    const auto own = dynamic_shared<Half>(), own_values = own + N * T::pitch;
    Stages<D, T, M> tiles{p, q + part.queries, dy + part.queries, part.n_queries,
                          own_values + N * T::pitch};
    copy_halves<D, T, N>(own, k + part.keys, part.first, part.n_keys, p);
    copy_halves<D, T, N>(own_values, v + part.keys, part.first, part.n_keys, p);
    tiles.begin(p.causal ? part.first / M * M : 0);  // earlier queries probably see none of them
    FragmentC sum_k[D / 8], sum_v[D / 8];
    for (int query = 0; query < part.n_queries; query += M) {
        const auto row_of = [&](int j) {
            const int at = query + own_column(j), last = part.n_queries - 1;
            return Row(rows, part.rows + (at < last ? at : last));
        };
        Hidden<C, 2, KeysByQueries> hidden;
        if (p.may_hide(query, part.first + N - 1)) {
            hidden = Hidden<C, 2, KeysByQueries>(p, part, query, part.first);
            bool matters = !hidden.all;
            for (int j = 0; j < C; ++j)
                if (query + own_column(j) < part.n_queries)
                    matters = matters || !(row_of(j).quick_weight(p.fill) == 0);
            if (!any_of_block(matters)) continue;
        }
        const auto queries = tiles.arrived(query, query + M < part.n_queries),
                   dys = queries + M * T::pitch;
        FragmentC s[M / 8], dw[M / 8];
        dot_rows<D, T, M>(s, own, queries);
        dot_rows<D, T, M>(dw, own_values, dys);
        for (int j = 0; j < C; ++j) {
            const Row row = row_of(j);
            const bool exists = query + own_column(j) < part.n_queries;
            for (int i = 0; i < 2; ++i) {
                const bool hides = hidden(j, i);
                const Real w =
                    exists ? row.quick_weight(hides ? p.fill : p.scale * number(s, i, j)) : 0;
                const Real ds = hides || !exists ? 0 : w * (number(dw, i, j) - row.dot);
                number(s, i, j) = static_cast<float>(w);
                number(dw, i, j) = static_cast<float>(ds);
            }
        }
        add_weighted<D, T, M>(sum_v, s, dys);
        add_weighted<D, T, M>(sum_k, dw, queries);
    }
    for (int i = 0; i < 2; ++i) {
        if (part.first + own_row(i) >= part.n_keys) continue;
        write_row<D>(dk + part.keys, part.first, sum_k, p.scale, i, p);
        write_row<D>(dv + part.keys, part.first, sum_v, 1, i, p);
    }
}

}  // namespace

void attend_backward_in_bf16(const Shape& scores, const BlockwiseCache& all, const Tensor& dy,
                             const Rows& rows, AttentionGradients& d) {
    const Half *const dy16 = in_bf16(dy).get(), *const q = in_bf16(all.q).get(),
                      *const k = in_bf16(all.k).get(), *const v = in_bf16(all.v).get();
    const Problem p =
        problem_of<Half>(scores, all.q.dim(2), all.mask, all.options, {dy16, q, k, v});
    for_sizes(p, [&](auto width, auto is_short) {
        constexpr int D = width();
        constexpr bool all_short = is_short();
        using T = Halves<D, all_short>;
        const Index heads = scores[0] * scores[1];
        constexpr std::size_t bytes = T::bytes(2, T::others);
        launch("attention dq, bf16", dq_bf16_kernel<D, all_short>,
               grid_of(heads, p.n_queries, T::own, bytes, T::threads), p, rows, d.dq.on_device(),
               dy16, q, k, v);
        launch("attention dk, dv, bf16", dkv_bf16_kernel<D, all_short>,
               grid_of(heads, p.n_keys, T::own, bytes, T::threads), p, rows, d.dk.on_device(),
               d.dv.on_device(), dy16, q, k, v);
    });
}

}  // namespace abh::cuda
