#pragma once

// Attention on tensor cores: tiles in bf16 in the memory that the threads of a block share, and
// products of them. Each warp takes 16 rows of a block's scores. Include it in *.cu only.
#include "chapters/05_multi_head_attention/attention_problem.cuh"
#include "lib/cuda/bf16.cuh"

namespace abh::cuda {
// [sizes in bf16]
/// The threads of a block: two warps, or four.
template <bool all_short>
constexpr int threads_of = all_short ? 64 : 128;

/// How many rows the tiles of heads of up to D columns have.
template <int D, bool all_short>
struct Halves {
    static constexpr int threads = threads_of<all_short>;
    static constexpr int own = threads / warp * 16;   ///< queries or keys of a block
    static constexpr int keys = all_short ? 32 : 64;  ///< of a tile, forward
    static constexpr int others = 32;                 ///< keys or queries of a tile, backward
    /// Numbers from one row to the next: the same 16 bytes of eight rows lie in different banks.
    static constexpr int pitch = D + 8;

    /// Of a block with `n` tiles of its own, and two stages of two tiles of `rows`.
    static constexpr std::size_t bytes(int n, int rows) {
        return sizeof(Half) * static_cast<std::size_t>((n * own + 4 * rows) * pitch);
    }
};
// [copies in bf16]
/// Begins to copy rows `first`, `first + 1`, ... of one head to `tile`, and writes zeros beyond the
/// last row and beyond d_k. @param x  this head's columns, from row 0 on
template <int D, class T, int rows>
__device__ void copy_halves(Global<Half> tile, Global<const Half> x, int first, int n_rows,
                            const Problem& p) {
    constexpr int n = 8, in_row = D / n, step = T::threads / in_row;
    const int column = static_cast<int>(threadIdx.x) % in_row * n;
    for (int r = static_cast<int>(threadIdx.x) / in_row; r < rows; r += step) {
        const auto to = tile + (r * T::pitch + column);
        const auto from = x + (static_cast<Index>(first + r) * p.d_model + column);
        const bool exists = first + r < n_rows && column < p.d_k;
        if (exists && p.in_pieces) {
            __pipeline_memcpy_async(to, from, n * sizeof(Half));
            continue;
        }
        Some<Half, n> piece{};
        for (int e = 0; e < n; ++e)
            if (exists && column + e < p.d_k) piece.v[e] = from[e];
        some<n>(to)[0] = piece;
    }
}

/// Tiles of keys and values, or of queries and dy, in two stages: while a block works on the tiles
/// of one, those of the other arrive.
template <int D, class T, int rows>
struct Stages {
    const Problem& p;
    Global<const Half> x, y;  ///< of this head
    int n_rows;
    Global<Half> stages;
    int begun = -1;  ///< the first row of the latest tiles

    __device__ Global<Half> stage(int first) const {
        return stages + first / rows % 2 * (2 * rows * T::pitch);
    }
    __device__ void begin(int first) {
        copy_halves<D, T, rows>(stage(first), x, first, n_rows, p);
        copy_halves<D, T, rows>(stage(first) + rows * T::pitch, y, first, n_rows, p);
        __pipeline_commit();
        begun = first;
    }
    /// Where the tiles that begin with row `first` have arrived. Those after them are begun if they
    /// will probably be wanted. Tiles that nobody has begun follow a barrier behind which no thread
    /// works on earlier ones: that of the decision that they matter.
    __device__ Global<Half> arrived(int first, bool also_next) {
        if (begun != first) {
            __pipeline_wait_prior(0);  // for tiles that are left out after all
            begin(first);
        }
        __pipeline_wait_prior(0);
        __syncthreads();  // all have copied their part, and are done with the other stage
        if (also_next) begin(first + rows);
        return stage(first);
    }
};
// [products in bf16]
/// Row i of two and column j of this lane, among the rows of a block and the columns of a tile.
__device__ inline int own_row(int i) {
    return static_cast<int>(threadIdx.x) / warp * 16 + lane() / 4 + 8 * i;
}
__device__ inline int own_column(int j) {
    return j / 2 * 8 + lane() % 4 * 2 + j % 2;
}
template <int n>
__device__ float& number(FragmentC (&c)[n], int i, int j) {
    return c[j / 2].sums[2 * i + j % 2];
}
/// Scores whose rows are queries, or keys.
struct QueriesByKeys {
    __device__ static int query(int i) { return own_row(i); }
    __device__ static int key(int j) { return own_column(j); }
};
struct KeysByQueries {
    __device__ static int query(int i) { return own_column(i); }
    __device__ static int key(int j) { return own_row(j); }
};

/// `s = a b^T`, for this warp's 16 rows of tile a and the n rows of tile b.
template <int D, class T, int n>
__device__ void dot_rows(FragmentC (&s)[n / 8], Global<Half> a, Global<Half> b) {
    a += static_cast<int>(threadIdx.x) / warp * 16 * T::pitch;
    for (FragmentC& c : s) c = {};
    for (int d = 0; d < D; d += 16) {
        const FragmentA<Bf16> left = load_a<Bf16>(a + d, T::pitch);
        for (int j = 0; j < n; j += 16) {
            FragmentB<Bf16> right[2];
            load_b<false>(right, b + (j * T::pitch + d), T::pitch);
            for (int e = 0; e < 2; ++e) mma(s[j / 8 + e], left, right[e]);
        }
    }
}

/// `y += w x`, for weights in registers, which are rounded, and the n rows of a tile.
template <int D, class T, int n>
__device__ void add_weighted(FragmentC (&y)[D / 8], const FragmentC (&w)[n / 8], Global<Half> x) {
    for (int j = 0; j < n; j += 16) {
        const FragmentA<Bf16> weights = as_a(w[j / 8], w[j / 8 + 1]);
        for (int d = 0; d < D; d += 16) {
            FragmentB<Bf16> right[2];
            load_b<true>(right, x + (j * T::pitch + d), T::pitch);
            for (int e = 0; e < 2; ++e) mma(y[d / 8 + e], weights, right[e]);
        }
    }
}
// [results in bf16]
/// Writes `scale` times row i of this lane.
/// @param y      this head's columns, from row 0 on
/// @param first  the block's first row
template <int D>
__device__ void write_row(Global<Real> y, int first, FragmentC (&c)[D / 8], Real scale, int i,
                          const Problem& p) {
    const auto row = y + static_cast<Index>(first + own_row(i)) * p.d_model;
    for (int j = 0; j < D / 4; ++j)
        if (own_column(j) < p.d_k) row[own_column(j)] = scale * number(c, i, j);
}

}  // namespace abh::cuda
