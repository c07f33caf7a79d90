#include "lib/fast/packed_matmul.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/eigen.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [blocks]
namespace {

constexpr Index strip = tile_width * lanes;  // columns of a tile
constexpr Index depth = 512;                 // of the inner axis at a time
constexpr Index some_columns = 128;          // of b: so many, `depth` deep, fit into a core's cache
constexpr Index some_rows = 80 * tile_height;  // of a, where they have to be copied

/// Makes room for so many numbers.
Real* at_least(Index numbers, Tensor& buffer) {
    if (buffer.size() < numbers) buffer = Tensor({numbers});
    return buffer.data();
}
// [columns]
/// Columns of the strip that begins with column `j` of `n`: the last one has fewer, but whole
/// lanes.
Index width_of(Index j, Index n) {
    return std::min(strip, whole_lanes(n - j));
}

/// `lanes` columns of `b`, the numbers of each side by side, as rows of `width` numbers: a square
/// at a time, which is turned around in registers.
void turn(Real* to, Index width, Strided b, Index k) {
    using Square = Eigen::Matrix<Real, lanes, lanes, Eigen::RowMajor>;
    using Stride = Eigen::OuterStride<>;
    Index p = 0;
    for (; p + lanes <= k; p += lanes) {
        Square square = Eigen::Map<const Square, 0, Stride>(b.data + p, Stride(b.column));
        square.transposeInPlace();
        Eigen::Map<Square, 0, Stride>(to + p * width, Stride(width)) = square;
    }
    for (; p < k; ++p)
        for (Index j = 0; j < lanes; ++j) to[p * width + j] = *b.from(p, j).data;
}

/// k rows and n columns of `b`: one strip behind the other, each row by row; zeros beyond n.
void pack_columns(Real* to, Strided b, Index k, Index n) {
    const auto place = [&](Index p, Index j) {
        const Index first = j / strip * strip;
        return to + first * k + p * width_of(first, n) + j - first;
    };
    const Index whole = n / lanes * lanes;
    if (b.column == 1) {
        for (Index p = 0; p < k; ++p)
            for (Index j = 0; j < whole; j += lanes)
                LanesMap(place(p, j)) = ConstLanesMap(b.from(p, j).data);
    } else {
        for (Index j = 0; j < whole; j += lanes)
            turn(place(0, j), width_of(j / strip * strip, n), b.from(0, j), k);
    }
    for (Index p = 0; p < k && whole < n; ++p)
        for (Index j = whole; j < whole_lanes(n); ++j)
            *place(p, j) = j < n ? *b.from(p, j).data : Real(0);
}
// [rows]
/// From one tile to the next. The line between them keeps them out of each other's places in a
/// cache.
Index packed_tile(Index k) {
    return k * tile_height + numbers_in_a_line;
}

/// Rows of `a`, the numbers of a column side by side: `tiles` tiles one behind the other, each
/// column by column. What is side by side is read together.
template <int tiles>
void pack_tiles(Real* to, Strided a, Index k) {
    for (Index p = 0; p < k; ++p) {
        const Real* const from = a.from(0, p).data;
#pragma GCC unroll 8
        for (int t = 0; t < tiles; ++t)
            std::memcpy(to + t * packed_tile(k) + p * tile_height, from + t * tile_height,
                        tile_height * sizeof(Real));
    }
}

/// m rows of `a`, in tiles; the last one may have fewer.
void pack_rows(Real* to, Strided a, Index m, Index k) {
    constexpr int tiles = 8;
    Index i = 0;
    for (; i + tiles * tile_height <= m; i += tiles * tile_height, to += tiles * packed_tile(k))
        pack_tiles<tiles>(to, a.from(i, 0), k);
    for (; i + tile_height <= m; i += tile_height, to += packed_tile(k))
        pack_tiles<1>(to, a.from(i, 0), k);
    for (Index p = 0; p < k && i < m; ++p)
        std::copy_n(a.from(i, p).data, m - i, to + p * tile_height);
}
// [tile]
/// Multiplies a tile by a strip of which n columns are wanted.
void multiply_tile(Real* c, Index width_c, Strided a, const Real* b, Index m, Index n, Index k,
                   bool add) {
    const Index width = width_of(0, n);
    for (Index i = 0; i < m; ++i)  // what will be written when all is summed
        for (Index j = 0; j < n; j += numbers_in_a_line) __builtin_prefetch(c + i * width_c + j, 1);
    if (n == width) return small_matmul(c, width_c, a, b, width, m, n, k, add);
    std::array<Real, tile_height * strip> sums;
    small_matmul(sums.data(), width, a, b, width, m, width, k, false);
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
            const Real sum = sums[static_cast<std::size_t>(i * width + j)];
            c[i * width_c + j] = add ? c[i * width_c + j] + sum : sum;
        }
}
// [block]
/// Multiplies rows of `a` by columns of `b`, at most `some_columns`, at most `depth` deep.
/// @param tile_a  from one tile of `a` to the next
void multiply_block(Real* c, Index width_c, Strided a, Index tile_a, Strided b, Index m, Index n,
                    Index k, Real scale, bool add) {
    thread_local Tensor buffer;
    Real* const strips = at_least(k * whole_lanes(n), buffer);
    pack_columns(strips, b, k, n);
    if (scale != 1) VectorMap(strips, k * whole_lanes(n)) *= scale;
    for (Index i = 0; i < m; i += tile_height, a.data += tile_a)
        for (Index j = 0; j < n; j += strip)
            multiply_tile(c + i * width_c + j, width_c, a, strips + j * k,
                          std::min<Index>(tile_height, m - i), std::min(strip, n - j), k, add);
}

}  // namespace
// [product]
void packed_matmul(Real* c, Index width_c, Strided a, Strided b, Index m, Index n, Index k,
                   Real scale, bool add) {
    thread_local Tensor buffer;
    const bool as_it_is = a.column == 1;
    const Index height = as_it_is ? std::max<Index>(m, 1) : some_rows;
    if (k == 0 && !add)
        for (Index i = 0; i < m; ++i) std::fill_n(c + i * width_c, n, Real(0));
    for (Index p = 0; p < k; p += depth)
        for (Index i = 0; i < m; i += height) {
            const Index deep = std::min(depth, k - p), n_rows = std::min(height, m - i);
            Strided left = a.from(i, p);
            Index tile = tile_height * a.row;
            if (!as_it_is) {
                tile = packed_tile(deep);
                Real* const to = at_least((n_rows + tile_height - 1) / tile_height * tile, buffer);
                pack_rows(to, left, n_rows, deep);
                left = {to, 1, tile_height};
            }
            for (Index j = 0; j < n; j += some_columns)
                multiply_block(c + i * width_c + j, width_c, left, tile, b.from(p, j), n_rows,
                               std::min(some_columns, n - j), deep, scale, add || p > 0);
        }
}

}  // namespace abh
