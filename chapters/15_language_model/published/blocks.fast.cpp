#include <algorithm>
#include <array>

#include "chapters/15_language_model/published/block_formats.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"
#include "lib/fast/product.hpp"

namespace abh::fast {
Tensor block_product(const Tensor& x, const BlockMatrix& w);
// [fast: decode]
namespace {

/// This many numbers at a time: those of a block, or of as many blocks of one number.
constexpr Index stretch = 32;

template <class Block>
constexpr bool is_scaled = numbers_in<Block> > 1;
// [fast: stretch]
/// Two numbers of a stretch before they are scaled.
struct Pair {
    Real low, high;
};
// Numbers j and j + 16, in terms of which a loop over j becomes vectors.
template <class T>
Pair pair(const Stored<T>* from, int j) {
    return {from[j].number(), from[j + 16].number()};
}
inline Pair pair(const Q8_0* from, int j) {
    const auto number = [&](int i) {  // GCC 12 makes no vectors of signed bytes
        return static_cast<Real>((static_cast<std::uint8_t>(from->q[i]) ^ 128) - 128);
    };
    return {number(j), number(j + 16)};
}
template <class Block>
Pair pair(const Block* from, int j) {
    return {static_cast<Real>(from->pairs[j] & 15), static_cast<Real>(from->pairs[j] >> 4)};
}

/// The products of a stretch with as many numbers, those of j and j + 16 added.
template <class Block>
[[gnu::always_inline]] inline Lanes products(const Block* from, const Real* x) {
    alignas(64) Real sums[lanes];
    for (int j = 0; j < lanes; ++j) {
        const auto [low, high] = pair(from, j);
        sums[j] = low * x[j] + high * x[j + lanes];
    }
    return ConstLanesMap(sums);
}
inline Lanes products(const Stored<Eigen::half>* from, const Real* x) {
    alignas(64) Real numbers[stretch];  // in one loop, which compilers prefer here
    for (int i = 0; i < stretch; ++i) numbers[i] = from[i].number();
    return ConstLanesMap(numbers) * ConstLanesMap(x) +
           ConstLanesMap(numbers + lanes) * ConstLanesMap(x + lanes);
}
// [fast: scales]
/// All numbers of fp16, by their bits: a load costs less than a conversion.
const std::array<float, 1 << 16>& fp16_numbers() {
    static const auto numbers = [] {
        std::array<float, 1 << 16> all;
        for (std::uint32_t i = 0; i < all.size(); ++i)
            all[i] = from_fp16(static_cast<std::uint16_t>(i));
        return all;
    }();
    return numbers;
}

template <class Block>
constexpr bool has_minimum = std::is_same_v<Block, Q4_0> || std::is_same_v<Block, Q4_1>;

template <class Block>
Real minimum_of(const Block&, const float*) {
    return 0;
}
inline Real minimum_of(const Q4_0& block, const float* numbers) {
    return -8 * numbers[block.scale.bits()];
}
inline Real minimum_of(const Q4_1& block, const float* numbers) {
    return numbers[block.minimum.bits()];
}
// [fast: few rows]
/// Sum over i of `(scale q_i + minimum) x_i = scale (sum of q_i x_i) + minimum (sum of x_i)`, for
/// the dot products of `M` rows of `x` with `W` rows of the matrix.
template <class Block, int M, int W>
void dot_products(const BlockMatrix& w, const Real* x, const Real* sums, Index row, Real* y) {
    const Index k = w.d_in(), n = w.d_out(), stretches = k / stretch;
    const Index next = w.bytes_in_row() / static_cast<Index>(sizeof(Block));
    const Index blocks = is_scaled<Block> ? 1 : stretch;  // in a stretch
    const auto* const first = reinterpret_cast<const Block*>(w.row(row));
    const float* const numbers = fp16_numbers().data();
    Lanes sum[M][W];
    Real minima[M][W] = {};
    for (auto& of_row : sum)
        for (Lanes& s : of_row) s.setZero();
    // [few rows: the idea]
    for (Index i = 0; i < stretches; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < W; ++j) {
            const Block* const block = first + j * next + i * blocks;
            __builtin_prefetch(reinterpret_cast<const std::byte*>(block) + 4096, 0, 3);
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m) {
                const Lanes terms = products(block, x + m * k + i * stretch);
                if constexpr (is_scaled<Block>)
                    sum[m][j] += static_cast<Real>(numbers[block->scale.bits()]) * terms;
                else
                    sum[m][j] += terms;
                if constexpr (has_minimum<Block>)
                    minima[m][j] += minimum_of(*block, numbers) * sums[m * stretches + i];
            }
        }
    // [few rows: sums]
    for (int m = 0; m < M; ++m)
        for (int j = 0; j < W; ++j) {
            Real rest = minima[m][j];
            if constexpr (!is_scaled<Block>)
                for (Index i = stretches * stretch; i < k; ++i)
                    rest += static_cast<Real>(first[j * next + i].number()) * x[m * k + i];
            y[m * n + row + j] = sum[m][j].sum() + rest;
        }
}

/// Columns `begin` to `end - 1` of a product of at most `M` rows.
template <class Block, int M>
void product_of_few(const BlockMatrix& w, const Tensor& x, const Real* sums, Index begin, Index end,
                    Tensor& y) {
    constexpr int width = M == 1 ? 4 : 2;  // rows of the matrix at once
    if (x.size() == M * w.d_in()) {
        for (; begin + width <= end; begin += width)
            dot_products<Block, M, width>(w, x.data(), sums, begin, y.data());
        for (; begin < end; ++begin) dot_products<Block, M, 1>(w, x.data(), sums, begin, y.data());
    } else if constexpr (M > 1) {
        product_of_few<Block, M - 1>(w, x, sums, begin, end, y);
    }
}

/// The sum of each stretch of each row.
Tensor sums_of_stretches(const Tensor& x) {
    const Index k = x.dim(-1), n = rows(x.shape()), stretches = k / stretch;
    Tensor sums({n, stretches});
    for (Index r = 0; r < n; ++r)
        for (Index i = 0; i < stretches; ++i) {
            const Real* const from = x.data() + r * k + i * stretch;
            sums(r, i) = (ConstLanesMap(from) + ConstLanesMap(from + lanes)).sum();
        }
    return sums;
}
// [fast: many rows]
/// Columns `begin` to `end - 1` of a product: these rows of the matrix as numbers fit into a cache.
void product_of_many(const BlockMatrix& w, const Tensor& x, Index begin, Index end, Tensor& y) {
    thread_local Tensor panel;
    const Index k = w.d_in(), n = end - begin;
    if (panel.size() < n * k) panel = Tensor({n * k});
    read_blocks(w.kind(), w.row(begin), panel.values().first(static_cast<std::size_t>(n * k)));
    product_here({y.data() + begin, w.d_out(), Strided::of(x.data(), k),
                  Strided::of(panel.data(), k, true), rows(x.shape()), n, k});
}

}  // namespace
// [fast: product]
Tensor block_product(const Tensor& x, const BlockMatrix& w) {
    constexpr int few = 4;
    Tensor y(x.shape().with(-1, w.d_out()));
    const Index n = w.d_out();
    if (rows(x.shape()) > few) {
        constexpr Index panel = 96;  // rows, few enough for a core's cache
        parallel_ranges(n, panel, [&](Index i, Index end) { product_of_many(w, x, i, end, y); });
        return y;
    }
    const Tensor sums = sums_of_stretches(x);
    // Cut by size alone, and so that only the last range has rows that are taken one at a time:
    // their bits may differ.
    const Index some = std::max<Index>(16, ceil_div(n, 128) * 4);
    with_block(w.kind(), [&]<class Block>(const Block*) {
        parallel_ranges(n, some, [&](Index i, Index end) {
            product_of_few<Block, few>(w, x, sums.data(), i, end, y);
        });
    });
    return y;
}

}  // namespace abh::fast
