#include "lib/fast/skinny_matmul.hpp"

#include <algorithm>
#include <array>

#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"

namespace abh {
namespace {
// [skinny]
constexpr int height = 8;  // rows of `b` at once

/// Gives each thread columns that lie side by side, so that it uses itself what it prefetches at
/// the end of a row.
template <class F>
void share_columns(Index n, const F& f) {
    const Index share = ceil_div(n, threads());
    parallel_ranges(n, whole_lanes(share), f);
}

/// `c (+)= scale * a b` for an `a` of few rows: a training step of some words, or decoding. Its
/// time is that of reading `b`, once and in order. Sixteen rows of `a` lie side by side in a
/// vector, which a number of `b` multiplies; eight rows of `b` are worked on at once, while the
/// next eight are on their way.
class Skinny {
public:
    /// @param turned  of `p.a`
    Skinny(const Product& p, const Tensor& turned)
        : p_(p), groups_(turned.dim(0)), a_(turned.data()) {}

    /// The rows of `a`, times scale, sixteen side by side: `[groups, k, lanes]`; zeros where there
    /// is no row.
    static Tensor turned(const Product& p) {
        Tensor a({ceil_div(p.m, lanes), p.k, lanes});
        for (Index g = 0; g < a.dim(0); ++g)
            for (Index i = 0; i < p.k; i += lanes) turn(p, g, i, std::min(lanes, p.k - i), a);
        return a;
    }

    /// Columns `first` to `last - 1` of `c`.
    void columns(Index first, Index last) const {
        const Index at_once = p_.b.by_columns() ? 64 : columns_at_once;
        for (; first < last; first += at_once) {
            const Index end = std::min(last, first + at_once);
            Index g = 0;
            for (; g + 2 <= groups_; g += 2) groups<2>(g, first, end);
            for (; g < groups_; ++g) groups<1>(g, first, end);
        }
    }

private:
    static constexpr Index columns_at_once = 256;      // whose sums the first cache holds
    using Square = Eigen::Matrix<Real, lanes, lanes>;  // Eigen turns it in registers
    using Row = Eigen::Map<Eigen::Matrix<Real, lanes, 1>>;
    using Column = Eigen::Map<const Eigen::Matrix<Real, lanes, 1>>;
    using Sums = std::array<Lanes, 2 * columns_at_once>;

    // [skinny: turn]
    /// Numbers `i` to `i + count - 1` of each row of group `g`: from side by side to one vector
    /// each.
    static void turn(const Product& p, Index g, Index i, Index count, Tensor& a) {
        const Strided from = p.a.from(g * lanes, i);
        Square square = Square::Zero();
        for (Index r = 0; r < std::min(lanes, p.m - g * lanes); ++r)
            if (count == lanes)
                square.col(r) = p.scale * Column(from.from(r, 0).data);
            else
                for (Index j = 0; j < count; ++j) square(j, r) = p.scale * *from.from(r, j).data;
        square.transposeInPlace();
        for (Index j = 0; j < count; ++j) Row{&a(g, i + j, 0)} = square.col(j);
    }

    /// Sums of columns `j` to `j + count - 1` for group `g`, one every `step`, go to `c`.
    void put(Index g, Index j, Index count, const Lanes* sums, Index step) const {
        Square square;
        for (Index i = 0; i < count; ++i) square.col(i) = sums[i * step].matrix();
        square.transposeInPlace();
        Real* to = p_.c + g * lanes * p_.width_c + j;
        for (Index r = 0; r < rows_of(g); ++r, to += p_.width_c) {
            if (count < lanes)
                for (Index i = 0; i < count; ++i) to[i] = (p_.add ? to[i] : 0) + square(i, r);
            else if (p_.add)
                Row{to} += square.col(r);
            else
                Row{to} = square.col(r);
        }
    }

    // [skinny: groups]
    Index rows_of(Index g) const { return std::min(lanes, p_.m - g * lanes); }

    /// `G` groups of rows from group `g` on.
    template <int G>
    void groups(Index g, Index first, Index last) const {
        Sums sums;  // [last - first, G]
        std::fill_n(sums.begin(), G * (last - first), Lanes::Zero());
        if (p_.b.by_columns())
            dot_products<G>(a_ + g * p_.k * lanes, first, last, sums.data());
        else
            sums_of_rows<G>(a_ + g * p_.k * lanes, first, last, sums.data());
        for (int i = 0; i < G; ++i)
            for (Index j = first; j < last; j += lanes)
                put(g + i, j, std::min(lanes, last - j), sums.data() + G * (j - first) + i, G);
    }
    // [skinny: b transposed]
    /// Column j of `c` are dot products with row j of `b`.
    template <int G>
    void dot_products(const Real* a, Index first, Index last, Lanes* sums) const {
        constexpr Index deep = 512 / G;  // so much of `a` fits into the first cache
        for (Index begin = 0; begin < p_.k; begin += deep) {
            const Index end = std::min(p_.k, begin + deep);
            Index j = first;
            for (; j + height <= last; j += height)
                dot_products<G, height>(a, j, begin, end, sums + G * (j - first));
            for (; j < last; ++j) dot_products<G, 1>(a, j, begin, end, sums + G * (j - first));
        }
    }

    template <int G, int H>
    void dot_products(const Real* a, Index j, Index begin, Index end, Lanes* sums) const {
        const Real* const b = p_.b.data + j * p_.k;
        Lanes sum[H][G];
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) sum[h][i] = sums[h * G + i];
        for (Index p = begin; p < end;) {
            for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p_.k + p, 0, 2);
            for (const Index next = std::min(end, p + numbers_in_a_line); p < next; ++p) {
                Lanes x[G];
                for (int i = 0; i < G; ++i) x[i] = of_group(a, i, p);
#pragma GCC unroll 8
                for (int h = 0; h < H; ++h)
#pragma GCC unroll 2
                    for (int i = 0; i < G; ++i) sum[h][i] += b[h * p_.k + p] * x[i];
            }
        }
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) sums[h * G + i] = sum[h][i];
    }
    // [skinny: b as it is]
    /// Row p of `b`, times number p of each row of `a`, adds to every column of `c`.
    template <int G>
    void sums_of_rows(const Real* a, Index first, Index last, Lanes* sums) const {
        Index p = 0;
        for (; p + height <= p_.k; p += height) add_rows<G, height>(a, p, first, last, sums);
        for (; p < p_.k; ++p) add_rows<G, 1>(a, p, first, last, sums);
    }

    template <int G, int H>
    void add_rows(const Real* a, Index p, Index first, Index last, Lanes* sums) const {
        const Real* const b = p_.b.data + p * p_.n;
        Lanes x[H][G];
        for (int h = 0; h < H; ++h)
            for (int i = 0; i < G; ++i) x[h][i] = of_group(a, i, p + h);
        for (Index j = first; j < last;) {
            for (int h = 0; h < H; ++h) __builtin_prefetch(b + (H + h) * p_.n + j, 0, 2);
            for (const Index next = std::min(last, j + numbers_in_a_line); j < next; ++j)
#pragma GCC unroll 2
                for (int i = 0; i < G; ++i) {
                    Lanes sum = sums[G * (j - first) + i];
#pragma GCC unroll 8
                    for (int h = 0; h < H; ++h) sum += b[h * p_.n + j] * x[h][i];
                    sums[G * (j - first) + i] = sum;
                }
        }
    }

    /// Number `p` of each row of group `i`.
    Lanes of_group(const Real* a, Index i, Index p) const {
        return ConstLanesMap(a + (i * p_.k + p) * lanes);
    }

    const Product& p_;
    Index groups_;
    const Real* a_;  // [groups, k, lanes]
};
// [very skinny]
/// The same where `b` is transposed and `a` has `M` rows, at most four: most of sixteen would be
/// empty. So here sixteen numbers of a row lie in a vector, whose sum is taken at the end.
template <int M>
class VerySkinny {
public:
    explicit VerySkinny(const Product& p) : p_(p) {}

    void columns(Index first, Index last) const {
        Index at = first;
        for (; at + width <= last; at += width) tile<width>(at);
        for (; at < last; ++at) tile<1>(at);
    }

private:
    static constexpr int width = 4;  // rows of `b` at once

    template <int W>
    void tile(Index column) const {
        const Index k = p_.k, whole = k / lanes * lanes;
        const Real* const b = p_.b.data + column * k;
        Lanes sum[M][W];
        for (auto& row : sum)
            for (Lanes& lane : row) lane.setZero();
        for (Index at = 0; at < whole; at += lanes) {
            for (int w = 0; w < W; ++w) __builtin_prefetch(b + (W + w) * k + at, 0, 2);
            Lanes x[M];
            for (int m = 0; m < M; ++m) x[m] = ConstLanesMap(p_.a.data + m * k + at);
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) {
                const Lanes y = ConstLanesMap(b + w * k + at);
#pragma GCC unroll 4
                for (int m = 0; m < M; ++m) sum[m][w] += x[m] * y;
            }
        }
        for (int m = 0; m < M; ++m)
            for (int w = 0; w < W; ++w) {
                Real product = sum_of(sum[m][w]);
                for (Index at = whole; at < k; ++at)
                    product += p_.a.data[m * k + at] * b[w * k + at];
                Real& y = p_.c[m * p_.width_c + column + w];
                y = (p_.add ? y : 0) + p_.scale * product;
            }
    }

    /// Sixteen numbers by eights and fours: always in one order.
    static Real sum_of(const Lanes& x) {
        const Eigen::Array<Real, 8, 1> eight = x.template head<8>() + x.template tail<8>();
        return (eight.template head<4>() + eight.template tail<4>()).sum();
    }

    const Product& p_;
};

/// Columns `first` to `last - 1` of a product of four rows or fewer.
void very_skinny(const Product& p, Index first, Index last) {
    switch (p.m) {
        case 1:
            return VerySkinny<1>(p).columns(first, last);
        case 2:
            return VerySkinny<2>(p).columns(first, last);
        case 3:
            return VerySkinny<3>(p).columns(first, last);
        default:
            return VerySkinny<4>(p).columns(first, last);
    }
}

}  // namespace
// [all skinny]
bool is_skinny(const Product& p) {
    return !p.a.by_columns() && p.m <= 64 && p.k * p.n >= 1 << 14;
}

void skinny_matmul(const Product& p) {
    if (p.m <= 4 && p.b.by_columns())
        return share_columns(p.n, [&](Index first, Index last) { very_skinny(p, first, last); });
    const Tensor turned = Skinny::turned(p);
    const Skinny skinny(p, turned);
    share_columns(p.n, [&](Index first, Index last) { skinny.columns(first, last); });
}

}  // namespace abh
