#include "chapters/03_masks/masks.hpp"
#include "chapters/05_multi_head_attention/attend_heads.hpp"
#include "chapters/05_multi_head_attention/heads.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::plain {
decltype(attend_heads) attend_heads;
decltype(attend_heads_backward) attend_heads_backward;
}  // namespace abh::plain
namespace abh::cuda {
// [sizes]
namespace {

/// The most columns that a head may have if some of its queries and keys are to fit into the memory
/// that the threads of a block share.
constexpr Index widest_head = sizeof(Real) == 4 ? 128 : 64;

constexpr int across = 16, down = 8;    // a block's threads, as laid out over a tile
constexpr int threads = across * down;  // so the 16 with the same rows are half a warp

constexpr Index longest_short = 32;  // up to so many queries and keys, small tiles are enough

/// How many queries and keys a tile of scores has, for heads of up to D columns: as many as fit
/// into 64 KiB, or fewer if no sentence has more than `longest_short` queries or keys.
template <int D, bool all_short>
struct Sizes {
    static constexpr int columns = D;
    static constexpr bool wide = sizeof(Real) == 8;
    // forward: queries of a block, keys of a tile
    static constexpr int queries = all_short ? (wide ? 16 : 32) : wide ? 32 : 64;
    static constexpr int keys = all_short ? queries : wide || D > 64 ? 32 : 64;
    // backward: queries of a block and keys of a tile for dq, keys and queries for dk and dv
    static constexpr int own = all_short || wide || D > 64 ? 32 : 64;
    static constexpr int others = all_short ? 16 : wide ? 1024 / D : D > 64 ? 16 : 32;
};
// [shared rows]
using Four = Some<Real, 4>;  ///< what a thread reads from shared memory at once

/// Distance in fours from one row of a tile to the next. Because it is odd, the same four columns
/// of eight rows lie in different banks.
template <int D>
constexpr int pitch = D / 4 + 1;

/// Distance in fours from one row of weights to the next, chosen so that the two halves of a warp,
/// which write one number per thread, write to different banks.
template <int columns>
constexpr int weights_pitch = columns / 4 + (sizeof(Real) == 8   ? 1
                                             : columns % 32 == 0 ? 4
                                                                 : 0);

/// Reads the four at index `at` of the shared memory.
__device__ inline Four four(int at) {
    return dynamic_shared<Four>()[at];
}

/// Writes `factor` times rows `first`, `first + 1`, ... of one head to `tile`, with zeros beyond
/// the last row and beyond d_k. Neighboring threads take neighboring columns. Up to eight loads of
/// a thread are under way at a time, and none waits for a branch, because a thread that would go
/// beyond the end reads the last row or column instead.
/// @param x  this head's columns, from row 0 on
template <int D, int rows>
__device__ inline void load(int tile, Global<const Real> x, int first, int n_rows, int d_model,
                            int d_k, Real factor) {
    constexpr int step = threads / D, some = rows / step < 8 ? rows / step : 8;
    static_assert(rows % (some * step) == 0);
    const int column = static_cast<int>(threadIdx.x) % D, row = static_cast<int>(threadIdx.x) / D;
    const int last = n_rows - first < rows ? n_rows - first - 1 : rows - 1;
    const Global<const Real> from =
        x + (static_cast<Index>(first) * d_model + (column < d_k ? column : d_k - 1));
    for (int r0 = row; r0 < rows; r0 += some * step) {
        Real v[some];
        for (int e = 0; e < some; ++e) {
            const int r = r0 + e * step;
            v[e] = from[(r < last ? r : last) * d_model];
        }
        for (int e = 0; e < some; ++e) {
            const int r = r0 + e * step;
            const bool inside = r <= last && column < d_k;
            dynamic_shared<Real>()[column + 4 * (tile + r * pitch<D>)] =
                inside ? factor * v[e] : Real(0);
        }
    }
}
// [products]
// Thread (x, y) computes rows y, y + 8, y + 16, ... and columns x, x + 16, ... of a product, so it
// uses what it reads from shared memory for a whole row or column of its results.

__device__ inline int own_x() {
    return static_cast<int>(threadIdx.x) % across;
}
__device__ inline int own_y() {
    return static_cast<int>(threadIdx.x) / across;
}

/// `s = a b^T`, for the rows of two tiles: the scores, or the gradients of the weights.
template <int D, int R, int C>
__device__ inline void dot_rows(Real (&s)[R][C], int a, int b) {
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) s[i][j] = 0;
    for (int d = 0; d < D / 4; ++d) {
        Four from_a[R];
        for (int i = 0; i < R; ++i) from_a[i] = four(a + (own_y() + i * down) * pitch<D> + d);
        for (int j = 0; j < C; ++j) {
            const Four from_b = four(b + (own_x() + j * across) * pitch<D> + d);
            for (int i = 0; i < R; ++i)
                for (int e = 0; e < 4; ++e) s[i][j] += from_a[i].v[e] * from_b.v[e];
        }
    }
}

/// This thread's columns of one row of a tile: D / 16 numbers in pieces of up to four, so that
/// neighboring threads read neighboring pieces.
template <int D>
struct Columns {
    static constexpr int at_once = D / across < 4 ? D / across : 4;
    static constexpr int pieces = D / across / at_once;
    Some<Real, at_once> piece[pieces];

    __device__ explicit Columns(int row) {  // where the row begins
        for (int p = 0; p < pieces; ++p)
            piece[p] =
                dynamic_shared<Some<Real, at_once>>()[row * (4 / at_once) + own_x() + p * across];
    }
    /// `y += factor * row`
    __device__ void add_to(Real (&y)[D / across], Real factor) const {
        for (int p = 0; p < pieces; ++p)
            for (int e = 0; e < at_once; ++e) y[p * at_once + e] += factor * piece[p].v[e];
    }
    /// The column of the head that `y[c]` holds.
    __device__ static int column(int c) {
        return (own_x() + c / at_once * across) * at_once + c % at_once;
    }
};

/// `y += w x`: rows y, y + 8, ... of the weights times the n rows of a tile.
template <int D, int R, int n>
__device__ inline void add_weighted(Real (&y)[R][D / across], int w, int x) {
    for (int j = 0; j < n / 4; ++j) {
        Four weight[R];
        for (int i = 0; i < R; ++i)
            weight[i] = four(w + (own_y() + i * down) * weights_pitch<n> + j);
        for (int e = 0; e < 4; ++e) {
            const Columns<D> row(x + (4 * j + e) * pitch<D>);
            for (int i = 0; i < R; ++i) row.add_to(y[i], weight[i].v[e]);
        }
    }
}

/// `y += w^T x`, for n rows of weights and n rows of a tile. Here `y[i]` is row
/// `transposed_row(i)`, so that four weights are read at once.
template <int D, int R, int n>
__device__ inline void add_weighted_transposed(Real (&y)[R][D / across], int w, int x) {
    for (int j = 0; j < n; ++j) {
        const Columns<D> row(x + j * pitch<D>);
        for (int g = 0; g < R / 4; ++g) {
            const Four weight = four(w + j * weights_pitch<R * down> + own_y() + g * down);
            for (int e = 0; e < 4; ++e) row.add_to(y[4 * g + e], weight.v[e]);
        }
    }
}

__device__ inline int transposed_row(int i) {
    return 4 * (own_y() + i / 4 * down) + i % 4;
}
// [helpers]
/// Writes the number at this thread's row i and column j to a tile of weights.
template <int n>
__device__ inline void put_weight(int w, int i, int j, Real v) {
    const int row = own_y() + i * down, column = own_x() + j * across;
    dynamic_shared<Real>()[column + 4 * (w + row * weights_pitch<n>)] = v;
}
// [problem]
/// The arguments that all kernels share.
struct Problem {
    int n_heads, n_queries, n_keys, d_model, d_k;  ///< n_queries, n_keys: of the longest sentences
    Real scale, fill;
    Global<const std::int32_t> query_offsets, key_offsets;  ///< null where nothing is packed
    bool causal;
    Global<const std::uint8_t> pads;   ///< [B, Lk], or null
    Global<const std::uint8_t> extra;  ///< any other mask, or null
    MaskSteps step;                    ///< in `extra`

    /// Whether any of the keys up to the last one may be hidden from this query or a later one.
    __device__ bool may_hide(int first_query, int last_key) const {
        return pads || extra || (causal && last_key > first_query);
    }
};

/// Where the rows of a sentence begin, and how many there are.
struct Sentence {
    int begin, count;

    __device__ Sentence(Global<const std::int32_t> offsets, int b, int longest)
        : begin(offsets ? offsets[b] : b * longest),
          count(offsets ? offsets[b + 1] - begin : longest) {}
};

/// The part of the problem that a block works on: `rows` queries or keys of one head.
struct Part {
    int first;              ///< its first row, counted within the sentence
    int n_queries, n_keys;  ///< of its sentence
    Index rows;             ///< where this head's queries begin in `Rows`
    Index queries, keys;    ///< where this head's columns begin
    Index pads, extra;

    __device__ Part(const Problem& p, int n_rows, int rows_of_block) {
        const int parts = (n_rows + rows_of_block - 1) / rows_of_block;
        const int block = static_cast<int>(blockIdx.x), head = block / parts;
        first = block % parts * rows_of_block;
        rows = static_cast<Index>(head) * p.n_queries;
        const int b = head / p.n_heads, h = head % p.n_heads;
        const Sentence from(p.query_offsets, b, p.n_queries), to(p.key_offsets, b, p.n_keys);
        n_queries = from.count;
        n_keys = to.count;
        queries = static_cast<Index>(from.begin) * p.d_model + h * p.d_k;
        keys = static_cast<Index>(to.begin) * p.d_model + h * p.d_k;
        pads = static_cast<Index>(b) * p.n_keys;
        extra = b * p.step.sentence + h * p.step.head;
    }
};
// [hidden]
/// Which of this thread's R x C scores are hidden, one bit each.
template <int R, int C>
struct Hidden {
    unsigned bits = 0;
    bool all = true;  ///< whether all that exist are hidden

    __device__ Hidden(const Problem& p, const Part& part, int query, int key) {
        const int last_q = part.n_queries - 1, last_k = part.n_keys - 1;
        for (int j = 0; j < C; ++j) {
            const int k = key + own_x() + j * across, own_k = k < last_k ? k : last_k;
            const bool pad = p.pads && p.pads[part.pads + own_k] != 0;
            for (int i = 0; i < R; ++i) {
                const int q = query + own_y() + i * down, own_q = q < last_q ? q : last_q;
                const Index at = part.extra + own_q * p.step.query + own_k * p.step.key;
                const bool hidden = pad || (p.causal && k > q) || (p.extra && p.extra[at] != 0);
                bits |= static_cast<unsigned>(hidden) << (i * C + j);
                all = all && (hidden || q > last_q || k > last_k);
            }
        }
    }
    __device__ Hidden() : all(false) {}
    __device__ bool operator()(int i, int j) const { return (bits >> (i * C + j) & 1) != 0; }
};

/// Whether `v` is true for any thread of the block.
__device__ inline bool any_of_block(bool v) {
    return block_max(v ? Real(1) : Real(0)) > 0;
}
// [forward]
template <class T>
constexpr std::size_t forward_bytes = sizeof(Four) * ((T::queries + T::keys) * pitch<T::columns> +
                                                      T::queries * weights_pitch<T::keys>);

/// Each block takes some queries of one head and goes through the keys tile by tile. Shared memory
/// holds the queries, one tile that holds first keys and then their values, and the tile's weights;
/// the scores, the running maxima and sums, and the results stay in registers. The kernel is bound
/// by arithmetic: 4 d_k operations for each pair of a query and a key.
template <int D, bool all_short>
__global__ void __launch_bounds__(threads)
    attention_kernel(Problem p, Global<Real> y, Global<Real> row_max, Global<Real> row_sum,
                     Global<const Real> q, Global<const Real> k, Global<const Real> v) {
    threads_at_most(threads);
    using T = Sizes<D, all_short>;
    constexpr int M = T::queries, N = T::keys, R = M / down, C = N / across;
    constexpr int queries = 0, keys = M * pitch<D>, weights = keys + N * pitch<D>;
    const Part part(p, p.n_queries, M);
    if (part.first >= part.n_queries) return;
    load<D, M>(queries, q + part.queries, part.first, part.n_queries, p.d_model, p.d_k, p.scale);

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
        load<D, N>(keys, k + part.keys, key, part.n_keys, p.d_model, p.d_k, 1);
        __syncthreads();
        Real s[R][C];
        dot_rows<D>(s, queries, keys);
        // [forward, softmax]
        for (int i = 0; i < R; ++i) {
            Real now = max[i];
            for (int j = 0; j < C; ++j) {
                if (hidden(i, j)) s[i][j] = p.fill;
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
        __syncthreads();  // all threads are done with the keys
        load<D, N>(keys, v + part.keys, key, part.n_keys, p.d_model, p.d_k, 1);
        __syncthreads();
        add_weighted<D, R, N>(context, weights, keys);
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
// [row sums]
/// Each thread computes `<dy_i, y_i>` for one query and head, bound by the bytes of dy and y. It
/// adds in the same order as `dot_rows` adds `<dy_i, v_j>`, so where all weight is on one key, the
/// two are equal and their difference, which is a gradient, is exactly 0.
__global__ void row_sums_kernel(Problem p, Index n, Global<Real> sums, Global<const Real> dy,
                                Global<const Real> y) {
    for (Index r = first_element(); r < n; r += all_threads()) {
        const Index i = r % p.n_queries, h = r / p.n_queries % p.n_heads,
                    b = r / p.n_queries / p.n_heads;
        const Sentence of(p.query_offsets, static_cast<int>(b), p.n_queries);
        if (i >= of.count) continue;
        const Index row = (of.begin + i) * p.d_model + h * p.d_k;
        Real sum = 0;
        for (int c = 0; c < p.d_k; ++c) sum += dy[row + c] * y[row + c];
        sums[r] = sum;
    }
}
// [backward]
/// What backward knows of each query, [B, H, Lq].
struct Rows {
    Global<const Real> row_max, row_sum, dot;  ///< dot: <dy_i, y_i>
};

/// The three numbers of one query.
struct Row {
    Real row_max, inverse, dot;

    Row() = default;
    __device__ Row(const Rows& rows, Index at)
        : row_max(rows.row_max[at]), inverse(1 / rows.row_sum[at]), dot(rows.dot[at]) {}
    /// `w = exp(s - row_max) / row_sum`
    __device__ Real weight(Real s) const { return exp_or_zero(s - row_max) * inverse; }
};

/// How many blocks are to fit into a multiprocessor at least. 0 leaves it to the compiler, whose
/// choice is good but for heads of 32 columns: too many registers for dq, and spills for dk and dv.
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
    load<D, M>(queries, q + part.queries, part.first, part.n_queries, p.d_model, p.d_k, p.scale);
    load<D, M>(dys, dy + part.queries, part.first, part.n_queries, p.d_model, p.d_k, 1);
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
        load<D, N>(keys, k + part.keys, key, part.n_keys, p.d_model, p.d_k, 1);
        load<D, N>(values, v + part.keys, key, part.n_keys, p.d_model, p.d_k, 1);
        __syncthreads();
        Real s[R][C], dw[R][C];
        dot_rows<D>(s, queries, keys);
        dot_rows<D>(dw, dys, values);
        for (int i = 0; i < R; ++i)
            for (int j = 0; j < C; ++j) {
                const bool none = hidden(i, j) || key + own_x() + j * across >= part.n_keys;
                const Real ds = none ? Real(0) : row[i].weight(s[i][j]) * (dw[i][j] - row[i].dot);
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
    load<D, N>(keys, k + part.keys, part.first, part.n_keys, p.d_model, p.d_k, 1);
    load<D, N>(values, v + part.keys, part.first, part.n_keys, p.d_model, p.d_k, 1);
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
        load<D, M>(queries, q + part.queries, query, part.n_queries, p.d_model, p.d_k, p.scale);
        load<D, M>(dys, dy + part.queries, query, part.n_queries, p.d_model, p.d_k, 1);
        __syncthreads();
        // [backward, keys, tile]
        Real s[R][C], dw[R][C];
        dot_rows<D>(s, queries, keys);
        dot_rows<D>(dw, dys, values);
        for (int i = 0; i < R; ++i)
            for (int j = 0; j < C; ++j) {
                const Real w = exists[i] ? row[i].weight(hidden(i, j) ? p.fill : s[i][j]) : Real(0);
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
            dk[at] = sum_k[i][c];  // the queries were scaled
            dv[at] = sum_v[i][c];
        }
    }
}
// [launch]
/// @param scores  the shape of the scores, `[B, H, Lq, Lk]`
Problem problem_of(const Shape& scores, Index d_model, const AttentionMask& mask,
                   const AttentionOptions& o) {
    const Index d_k = d_model / scores[1];
    Problem p{};
    p.n_heads = static_cast<int>(scores[1]);
    p.n_queries = static_cast<int>(scores[2]);
    p.n_keys = static_cast<int>(scores[3]);
    p.d_model = static_cast<int>(d_model);
    p.d_k = static_cast<int>(d_k);
    p.scale = scale_of(o, d_k);
    p.fill = fill_of(o, d_k);
    p.causal = mask.causal;
    if (mask.packed()) {
        p.query_offsets = mask.queries.offsets.on_device();
        p.key_offsets = mask.keys.offsets.on_device();
    }
    if (!mask.pads.empty()) p.pads = mask.pads.on_device();
    if (mask.extra.empty()) return p;
    p.extra = mask.extra.on_device();
    p.step = steps_of(mask.extra);
    return p;
}

/// Calls `f` with the template arguments of the kernels, as types: the narrowest width that holds
/// the head's columns, and whether all queries and keys fit into small tiles.
template <class F>
void for_sizes(const Problem& p, const F& f) {
    const auto for_width = [&](auto all_short) {
        if (p.d_k <= 32) return f(std::integral_constant<int, 32>(), all_short);
        if (p.d_k <= 64) return f(std::integral_constant<int, 64>(), all_short);
        if constexpr (widest_head >= 128) f(std::integral_constant<int, 128>(), all_short);
    };
    if (p.n_queries <= longest_short && p.n_keys <= longest_short)
        for_width(std::true_type());
    else
        for_width(std::false_type());
}

/// One block for every `rows` of the `n_rows` queries or keys of each head.
Grid grid_of(Index heads, Index n_rows, int rows, std::size_t shared_bytes) {
    Grid grid = blocks_of(heads * ceil_div(n_rows, rows), threads);
    grid.shared_bytes = shared_bytes;
    return grid;
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
    if (cache) cache->kept = BlockwiseCache{q, k, v, y, row_max, row_sum, mask, options};
    if (q.empty()) return y;
    const Problem p = problem_of(scores, q.dim(2), mask, options);
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
    const Problem p = problem_of(scores, q.dim(2), cache.mask, cache.options);
    Tensor dots(cache.row_max.shape());  // [B, H, Lq]
    launch("attention row sums", row_sums_kernel, grid_for(dots.size()), p, dots.size(),
           dots.on_device(), dy.on_device(), cache.context.on_device());
    const Rows rows{cache.row_max.on_device(), cache.row_sum.on_device(), dots.on_device()};
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
