#include <algorithm>
#include <array>

#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/product.hpp"

namespace abh {
// [skinny: turn]
namespace {

constexpr int height = 8;                          // rows of `b` at once
using Square = Eigen::Matrix<Real, lanes, lanes>;  // Eigen transposes it in registers

/// The rows of `a`, times scale, in groups of sixteen side by side: `[groups, k, lanes]`, with
/// zeros where there is no row.
Tensor turned(const Product& p) {
    Tensor a({ceil_div(p.m, lanes), p.k, lanes});
    const Index squares = ceil_div(p.k, lanes);  // in a group
    parallel_ranges(a.dim(0) * squares, 32, [&](Index i, Index end) {
        for (; i < end; ++i) {
            const Index g = i / squares, at = i % squares * lanes;
            const Index count = std::min(lanes, p.k - at), rows = std::min(lanes, p.m - g * lanes);
            Square square;
            if (count < lanes || rows < lanes) square.setZero();
            for (Index r = 0; r < rows; ++r) {
                const Real* const from = p.a.from(g * lanes + r, at).data;
                if (count == lanes)
                    square.col(r) = p.scale * ConstLanesMap(from).matrix();
                else
                    square.col(r).head(count) = p.scale * ConstVectorMap(from, count);
            }
            square.transposeInPlace();
            for (Index j = 0; j < count; ++j) LanesMap(&a(g, at + j, 0)) = square.col(j).array();
        }
    });
    return a;
}

/// Writes the sums of group `g` to `count` columns of `c`, from column `first` on.
void put(const Product& p, Index g, Index first, Index count, const Lanes* sums) {
    for (Index j = 0; j < count; j += lanes) {
        const Index width = std::min(lanes, count - j);
        Square square;
        for (Index i = 0; i < width; ++i) square.col(i) = sums[j + i].matrix();
        square.transposeInPlace();
        for (Index r = 0; r < std::min(lanes, p.m - g * lanes); ++r) {
            Real* const c = p.c + (g * lanes + r) * p.width_c + first + j;
            const auto write = [&p](auto to, const auto& row) {
                if (p.add)
                    to += row;
                else
                    to = row;
            };
            if (width == lanes)  // a count that the compiler knows
                write(LanesMap(c), square.col(r).array());
            else
                write(VectorMap(c, width), square.col(r).head(width));
        }
    }
}
// [skinny: b transposed]
/// Computes `H` columns of `c` from `j` on, as dot products with `H` rows of `b`.
/// @param a  a group of rows as `turned` gives them
template <int H>
void dot_products(const Product& p, const Real* a, Index j, Lanes* sums) {
    const Real* const b = p.b.from(0, j).data;
    Lanes sum[H];
    for (Lanes& s : sum) s.setZero();
    for (Index at = 0; at < p.k;) {
        for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p.b.column + at, 0, 2);
        for (const Index next = std::min(p.k, at + numbers_in_a_line); at < next; ++at) {
            const Lanes x = ConstLanesMap(a + at * lanes);
#pragma GCC unroll 8
            for (int h = 0; h < H; ++h) sum[h] += b[h * p.b.column + at] * x;
        }
    }
    std::copy_n(sum, H, sums);
}

/// Computes columns `first` to `last - 1`.
void dot_products(const Product& p, const Real* a, Index first, Index last, Lanes* sums) {
    Index j = first;
    for (; j + height <= last; j += height) dot_products<height>(p, a, j, sums + (j - first));
    for (; j < last; ++j) dot_products<1>(p, a, j, sums + (j - first));
}
// [skinny: b as it is]
/// Multiplies rows `at` to `at + H - 1` of `b` by the numbers at these positions of each row of
/// `a`, and adds the products to the sums of columns `first` to `last - 1` of `c`.
template <int H>
void add_rows(const Product& p, const Real* a, Index at, Index first, Index last, Lanes* sums) {
    const Real* const b = p.b.from(at, 0).data;
    Lanes x[H];
    for (int h = 0; h < H; ++h) x[h] = ConstLanesMap(a + (at + h) * lanes);
    for (Index j = first; j < last;) {
        for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p.b.row + j, 0, 2);
        for (const Index next = std::min(last, j + numbers_in_a_line); j < next; ++j, ++sums) {
            Lanes sum = *sums;
#pragma GCC unroll 8
            for (int h = 0; h < H; ++h) sum += b[h * p.b.row + j] * x[h];
            *sums = sum;
        }
    }
}

/// Does the same for all rows of `b`, with sums that begin at 0.
void sums_of_rows(const Product& p, const Real* a, Index first, Index last, Lanes* sums) {
    Index at = 0;
    std::fill_n(sums, last - first, Lanes::Zero());
    for (; at + height <= p.k; at += height) add_rows<height>(p, a, at, first, last, sums);
    for (; at < p.k; ++at) add_rows<1>(p, a, at, first, last, sums);
}
// [skinny]
/// Computes columns `first` to `last - 1` of `c`. @param a  as `turned` gives it
void skinny(const Product& p, const Tensor& a, Index first, Index last) {
    constexpr Index at_once = 256;  // the sums of this many columns fit into the first cache
    std::array<Lanes, at_once> sums;
    for (Index end; first < last; first = end) {
        end = std::min(last, first + (p.b.by_columns() ? 64 : at_once));
        for (Index g = 0; g < a.dim(0); ++g) {
            const Real* const rows = a.data() + g * p.k * lanes;
            if (p.b.by_columns())
                dot_products(p, rows, first, end, sums.data());
            else
                sums_of_rows(p, rows, first, end, sums.data());
            put(p, g, first, end - first, sums.data());
        }
    }
}
// [very skinny]
/// Computes `W` columns of `c` from `j` on, if `b` is transposed and `a` has `M` rows.
template <int M, int W>
[[gnu::always_inline]] inline void very_skinny(const Product& p, Index j) {
    const Index k = p.k, whole = k / lanes * lanes;
    const Real* const b = p.b.data + j * k;
    Lanes sum[M][W];
    for (auto& row : sum)
        for (Lanes& lane : row) lane.setZero();
    for (Index at = 0; at < whole; at += lanes) {
        for (int w = 0; w < W; ++w) __builtin_prefetch(b + (W + w) * k + at, 0, 2);
        Lanes x[M];
        for (int m = 0; m < M; ++m) x[m] = ConstLanesMap(p.a.data + m * k + at);
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) {
            const Lanes y = ConstLanesMap(b + w * k + at);
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m) sum[m][w] += x[m] * y;
        }
    }
    for (int m = 0; m < M; ++m)
        for (int w = 0; w < W; ++w) {
            const Lanes& s = sum[m][w];  // summed by eights and fours, always in the same order
            const Eigen::Array<Real, 8, 1> eight = s.template head<8>() + s.template tail<8>();
            Real product = (eight.template head<4>() + eight.template tail<4>()).sum();
            for (Index at = whole; at < k; ++at) product += p.a.data[m * k + at] * b[w * k + at];
            Real& y = p.c[m * p.width_c + j + w];
            y = (p.add ? y : 0) + p.scale * product;
        }
}

/// Computes columns `first` to `last - 1` of a product of at most `M` rows.
template <int M>
void very_skinny(const Product& p, Index first, Index last) {
    constexpr int width = 4;  // rows of `b` at once
    if (p.m == M) {
        for (; first + width <= last; first += width) very_skinny<M, width>(p, first);
        for (; first < last; ++first) very_skinny<M, 1>(p, first);
    } else if constexpr (M > 1) {
        very_skinny<M - 1>(p, first, last);
    }
}

}  // namespace
// [all skinny]
bool is_skinny(const Product& p) {
    return !p.a.by_columns() && p.m <= 64 && p.k * p.n >= 1 << 14;
}

void skinny_matmul(const Product& p) {
    const bool very = p.m <= 4 && p.b.by_columns();
    const Tensor a = very ? Tensor() : turned(p);
    // One range of columns for each thread: at the end of a smaller one, a thread would have
    // prefetched rows of `b` that another thread needs.
    parallel_ranges(p.n, whole_lanes(ceil_div(p.n, threads())), [&](Index first, Index last) {
        very ? very_skinny<4>(p, first, last) : skinny(p, a, first, last);
    });
}

}  // namespace abh
