#include "lib/fast/packed_matmul.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "lib/eigen.hpp"
#include "lib/fast/tile.hpp"
#include "lib/tensor.hpp"

namespace abh {
// [blocks]
namespace {

constexpr Index strip = tile_width * lanes;  // columns of a tile
constexpr Index depth = 512;                 // of the inner axis at a time
constexpr Index some_columns = 128;          // of b: so many, `depth` deep, fit into a core's cache
constexpr Index some_rows = 344 * tile_height;  // of a, where they have to be copied
constexpr Index large = 1 << 16;                // numbers that would fill most of that cache

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

/// `lanes` columns of `b`, the numbers of each side by side, as rows of `width` numbers.
void turn(Real* to, Index width, Strided b, Index k) {
    Index p = 0;
    for (; p + lanes <= k; p += lanes) transpose_lanes(to + p * width, width, b.data + p, b.column);
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
// [edge]
/// Multiplies the last tile, or by the last strip: m rows and n columns are wanted of it.
void multiply_edge(Real* c, Index width_c, Strided a, const Real* b, Index m, Index n, Index k,
                   bool add) {
    const Index width = width_of(0, n);
    if (n == width) return small_matmul(c, width_c, a, b, width, m, n, k, add);
    std::array<Real, tile_height * strip> sums;
    small_matmul(sums.data(), width, a, b, width, m, width, k, false);
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
            const Real sum = sums[static_cast<std::size_t>(i * width + j)];
            c[i * width_c + j] = add ? c[i * width_c + j] + sum : sum;
        }
}
// [ahead]
/// Some columns of `b`, some rows deep: what is packed at once.
struct Part {
    Strided b;
    Index k, n;
};

/// Asks memory for the part that is packed next: a little with each tile, which hides the wait.
class Ahead {
public:
    /// @param tiles  that are multiplied until then
    Ahead(const Part& next, Index tiles)
        : from_(next.b.data),
          stride_(next.b.column == 1 ? next.b.row : next.b.column),
          lines_(ceil_div(next.b.column == 1 ? next.n : next.k, numbers_in_a_line)),
          left_(lines_ * (next.b.column == 1 ? next.k : next.n)),
          at_once_(ceil_div(left_, tiles)) {}

    void some() {
        for (Index i = std::min(at_once_, left_); i > 0; --i, --left_) {
            __builtin_prefetch(from_ + line_ * numbers_in_a_line, 0, 2);  // into the second cache
            if (++line_ == lines_) line_ = 0, from_ += stride_;
        }
    }

private:
    const Real* from_;
    Index stride_, lines_, left_, at_once_, line_ = 0;
};
// [block]
/// Multiplies m rows of `a` by a part of `b`.
/// @param tile_a       from one tile of `a` to the next
/// @param past_caches  whether to write whole tiles there
/// @param next         is packed after this one
void multiply_block(Real* c, Index width_c, Strided a, Index tile_a, const Part& part, Index m,
                    Real scale, bool add, bool past_caches, const Part& next) {
    thread_local Tensor buffer;
    const Index k = part.k, n = part.n;
    Real* const strips = at_least(k * whole_lanes(n), buffer);
    pack_columns(strips, part.b, k, n);
    if (scale != 1) VectorMap(strips, k * whole_lanes(n)) *= scale;
    Ahead ahead(next, ceil_div(m, tile_height) * ceil_div(n, strip));
    for (Index i = 0; i < m; i += tile_height, a.data += tile_a)
        for (Index j = 0; j < n; j += strip) {
            Real* const to = c + i * width_c + j;
            const Real* const from = strips + j * k;
            const Index n_rows = std::min<Index>(tile_height, m - i),
                        columns = std::min(strip, n - j);
            ahead.some();
            if (n_rows == tile_height && columns == strip)
                tile<tile_height, tile_width>(to, width_c, a, from, strip, k, add, past_caches);
            else
                multiply_edge(to, width_c, a, from, n_rows, columns, k, add);
        }
}

}  // namespace
// [product]
void packed_matmul(Real* c, Index width_c, Strided a, Strided b, Index m, Index n, Index k,
                   Real scale, bool add) {
    thread_local Tensor buffer;
    const bool as_it_is = a.column == 1;
    const bool lines =
        width_c % numbers_in_a_line == 0 &&
        reinterpret_cast<std::uintptr_t>(c) % (numbers_in_a_line * sizeof(Real)) == 0;
    // `a` is transposed in the gradient of a weight, which nobody reads before the update
    const bool past_caches = !as_it_is && !add && k <= depth && m * n >= large && lines;
    const Index height = as_it_is ? std::max<Index>(m, 1) : some_rows;
    const auto part = [&](Index p, Index j) {
        return Part{b.from(p, j), std::min(depth, k - p),
                    std::clamp<Index>(n - j, 0, some_columns)};
    };
    if (k == 0 && !add)
        for (Index i = 0; i < m; ++i) std::fill_n(c + i * width_c, n, Real(0));
    for (Index p = 0; p < k; p += depth)
        for (Index i = 0; i < m; i += height) {
            const Index deep = std::min(depth, k - p), n_rows = std::min(height, m - i);
            Strided left = a.from(i, p);
            Index tile_a = tile_height * a.row;
            if (!as_it_is) {
                tile_a = packed_tile(deep);
                Real* const to = at_least(ceil_div(n_rows, tile_height) * tile_a, buffer);
                pack_rows(to, left, n_rows, deep);
                left = {to, 1, tile_height};
            }
            for (Index j = 0; j < n; j += some_columns)
                multiply_block(c + i * width_c + j, width_c, left, tile_a, part(p, j), n_rows,
                               scale, add || p > 0, past_caches, part(p, j + some_columns));
        }
    if (past_caches) end_writes_past_caches();
}

}  // namespace abh
