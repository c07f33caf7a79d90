#pragma once

// Tiles of queries, keys, values and weights in the memory that the threads of a block share, and
// products of them. Include it in *.cu only.
#include "lib/cuda/kernel.cuh"

namespace abh::cuda {
// [sizes]
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
    // whether values have a tile of their own, for which no block has to leave a multiprocessor
    static constexpr bool apart = all_short || D == 32;
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

/// Begins to copy rows `first`, `first + 1`, ... of one head to `tile`, and writes zeros beyond the
/// last row and beyond d_k. The copies end a group. They need no registers on the way, so all of a
/// tile's are under way at once. Neighboring threads copy neighboring pieces.
/// @param x          this head's columns, from row 0 on
/// @param in_pieces  whether pieces of 16 bytes can be copied, or else numbers
template <int D, int rows>
__device__ inline void copy(int tile, Global<const Real> x, int first, int n_rows, int d_model,
                            int d_k, bool in_pieces) {
    const auto copy_by = [=]<int n>(std::integral_constant<int, n>) {
        constexpr int in_row = D / n, step = threads / in_row;
        const int column = static_cast<int>(threadIdx.x) % in_row * n,
                  row = static_cast<int>(threadIdx.x) / in_row;
        const int end = column < d_k ? n_rows - first : 0;
        auto from = x + (static_cast<Index>(first + row) * d_model + column);
#ifdef __CUDACC__
#pragma unroll 1  // several turns in one would take registers that the products need
#endif
        for (int r = row; r < rows; r += step) {
            const auto to = dynamic_shared<Real>() + (column + 4 * (tile + r * pitch<D>));
            if (r < end)
                __pipeline_memcpy_async(to, from, n * sizeof(Real));
            else
                as<Some<Real, n>>(to)[0] = {};
            from += step * d_model;
        }
    };
    if (in_pieces)
        copy_by(std::integral_constant<int, 16 / sizeof(Real)>());
    else
        copy_by(std::integral_constant<int, 1>());
    __pipeline_commit();
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

}  // namespace abh::cuda
