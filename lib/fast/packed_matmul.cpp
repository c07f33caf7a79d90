#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "lib/fast/lanes.hpp"
#include "lib/fast/product.hpp"

namespace abh {
// [blocks]
namespace {

constexpr Index strip = tile_width * lanes;     // columns of a tile
constexpr Index depth = 512;                    // of the inner axis at a time
constexpr Index some_columns = 128;             // of b: at this depth, they fit into a core's cache
constexpr Index some_rows = 344 * tile_height;  // of a, if they have to be copied

/// Makes room for this many numbers in `buffer`.
Real* at_least(Index numbers, Tensor& buffer) {
    if (buffer.size() < numbers) buffer = Tensor({numbers});
    return buffer.data();
}
// [columns]
/// Width of the strip that begins at column `j` of `n`. The last strip may be narrower, but it has
/// whole lanes.
Index width_of(Index j, Index n) {
    return std::min(strip, whole_lanes(n - j));
}

/// Writes `lanes` contiguous columns of `b` as rows, `width` numbers apart.
void turn(Real* to, Index width, Strided b, Index k) {
    Index p = 0;
    for (; p + lanes <= k; p += lanes) transpose_lanes(to + p * width, width, b.data + p, b.column);
    for (; p < k; ++p)
        for (Index j = 0; j < lanes; ++j) to[p * width + j] = *b.from(p, j).data;
}

/// Packs k rows and n columns of `b` strip by strip, each row by row, with zeros beyond n.
void pack_columns(Real* to, Strided b, Index k, Index n) {
    const auto place = [&](Index p, Index j) {
        const Index first = j / strip * strip;
        return to + first * k + p * width_of(first, n) + j - first;
    };
    const Index whole = n / lanes * lanes;
    if (!b.by_columns()) {
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
/// Distance from one tile to the next. An extra line between them keeps tiles from competing for
/// the same places in a cache.
Index packed_tile(Index k) {
    return k * tile_height + numbers_in_a_line;
}

/// Packs m rows of an `a` whose columns are contiguous: in tiles, each column by column. The last
/// tile may have fewer rows.
void pack_rows(Real* to, Strided a, Index m, Index k) {
    for (Index p = 0; p < k; ++p) {
        const Real* const from = a.from(0, p).data;
        Real* tile = to + p * tile_height;
        Index i = 0;
        for (; i + tile_height <= m; i += tile_height, tile += packed_tile(k))
            std::memcpy(tile, from + i, tile_height * sizeof(Real));
        std::copy_n(from + i, m - i, tile);
    }
}
// [tile]
/// Multiplies some rows by a strip, whose rows have whole lanes.
void multiply_tile(const Product& p) {
    const Index width = p.b.row;
    if (p.n == width) return small_matmul(p);
    std::array<Real, tile_height * strip> sums;
    small_matmul({sums.data(), width, p.a, p.b, p.m, width, p.k});
    for (Index i = 0; i < p.m; ++i)
        for (Index j = 0; j < p.n; ++j) {
            const Real sum = sums[static_cast<std::size_t>(i * width + j)];
            Real& c = p.c[i * p.width_c + j];
            c = p.add ? c + sum : sum;
        }
}
// [block]
/// Packs a block of `b`, and multiplies by it.
/// @param tile_a  distance from one tile of `a` to the next
void multiply_block(Product p, Index tile_a) {
    thread_local Tensor buffer;
    Real* const strips = at_least(p.k * whole_lanes(p.n), buffer);
    pack_columns(strips, p.b, p.k, p.n);
    if (p.scale != 1) VectorMap(strips, p.k * whole_lanes(p.n)) *= std::exchange(p.scale, 1);
    for (Index i = 0; i < p.m; i += tile_height)
        for (Index j = 0; j < p.n; j += strip) {
            Product part =
                p.block(i, j, std::min<Index>(tile_height, p.m - i), std::min(strip, p.n - j));
            part.a = {p.a.data + i / tile_height * tile_a, p.a.row, p.a.column};
            part.b = Strided::of(strips + j * p.k, width_of(j, p.n));
            multiply_tile(part);
        }
}

}  // namespace
// [product]
void packed_matmul(const Product& p) {
    thread_local Tensor buffer;
    const bool as_it_is = !p.a.by_columns();
    const Index height = as_it_is ? p.m : some_rows;
    if (p.k == 0 && !p.add)
        for (Index i = 0; i < p.m; ++i) std::fill_n(p.c + i * p.width_c, p.n, Real(0));
    for (Index first = 0; first < p.k; first += depth)
        for (Index i = 0; i < p.m; i += height) {
            Product rows = p.inner(first, std::min(depth, p.k - first))
                               .block(i, 0, std::min(height, p.m - i), p.n);
            rows.add = p.add || first > 0;
            Index tile_a = tile_height * p.a.row;
            if (!as_it_is) {
                tile_a = packed_tile(rows.k);
                Real* const to = at_least(ceil_div(rows.m, tile_height) * tile_a, buffer);
                pack_rows(to, rows.a, rows.m, rows.k);
                rows.a = {to, 1, tile_height};
            }
            for (Index j = 0; j < p.n; j += some_columns)
                multiply_block(rows.block(0, j, rows.m, std::min(some_columns, p.n - j)), tile_a);
        }
}

}  // namespace abh
