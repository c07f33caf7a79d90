#include <algorithm>
#include <array>
#include <cmath>
#include <vector>
#ifdef __x86_64__
#include <immintrin.h>
#endif

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
// [fast: rounded]
/// Few rows for a product with blocks, stretch by stretch.
struct Rows {
    const Real* numbers;
    const std::int16_t* rounded;  ///< numbers over scales, -32767 to 32767
    const float *scales, *sums;   ///< of each stretch
};

/// 16 numbers of a stretch, and sums of two neighbors' products.
typedef std::int16_t Words __attribute__((vector_size(32)));
typedef std::int32_t Sums __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(32)));

/// Adds products of neighbors: one instruction, which compilers do not find in the loop.
[[gnu::always_inline]] inline void add_products(const Words& a, const std::int16_t* from,
                                                Sums& to) {
    Words b;
    std::memcpy(&b, from, sizeof b);
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    to = (Sums)_mm256_dpwssd_epi32((__m256i)to, (__m256i)a, (__m256i)b);
#elif defined(__AVX2__)
    to += (Sums)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    for (int j = 0; j < 8; ++j) to[j] += a[2 * j] * b[2 * j] + a[2 * j + 1] * b[2 * j + 1];
#endif
}

template <class T>
[[gnu::always_inline]] inline void widen(const void* from, Words& to) {
    typedef T Bytes __attribute__((vector_size(16)));
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    to = __builtin_convertvector(bytes, Words);
}
/// The numbers of a block before they are scaled: the first and the last 16.
template <class Block>
[[gnu::always_inline]] inline void words_of(const Block& from, Words& low, Words& high) {
    widen<std::uint8_t>(from.pairs, low);
    high = low >> 4;
    low &= 15;
}
[[gnu::always_inline]] inline void words_of(const Q8_0& from, Words& low, Words& high) {
    widen<std::int8_t>(from.q, low);
    widen<std::int8_t>(from.q + 16, high);
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

inline float minimum_of(const Q8_0&, const float*) {
    return 0;
}
inline float minimum_of(const Q4_0& block, const float* numbers) {
    return -8 * numbers[block.scale.bits()];
}
inline float minimum_of(const Q4_1& block, const float* numbers) {
    return numbers[block.minimum.bits()];
}
// [fast: few rows]
/// The dot products of `M` rows of `x` with `W` rows of blocks:
/// sums over i of `(scale q_i + minimum) x_i = scale (sum of q_i x_i) + minimum (sum of x_i)`.
template <int M, int W, class Block>
void dot_products(const Block* first, const BlockMatrix& w, const Rows& x, Real* y) {
    const Index n = w.d_out(), stretches = w.d_in() / stretch;
    const float* const numbers = fp16_numbers().data();
    Floats sum[M][W] = {};
    float minima[M][W] = {};
    // [few rows: the idea]
    for (Index i = 0; i < stretches; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < W; ++j) {
            const Block& block = first[j * stretches + i];
            __builtin_prefetch(reinterpret_cast<const std::byte*>(&block) + 4096, 0, 3);
            Words low, high;
            words_of(block, low, high);
#pragma GCC unroll 4
            for (int m = 0; m < M; ++m) {
                const Index at = m * stretches + i;
                const std::int16_t* const from = x.rounded + at * stretch;
                Sums products = {};
                add_products(low, from, products);
                add_products(high, from + 16, products);
                const float scale = numbers[block.scale.bits()] * x.scales[at];
                sum[m][j] += scale * __builtin_convertvector(products, Floats);
                minima[m][j] += minimum_of(block, numbers) * x.sums[at];
            }
        }
    // [few rows: sums]
    for (int m = 0; m < M; ++m)
        for (int j = 0; j < W; ++j) {
            float total = minima[m][j];
            for (int lane = 0; lane < 8; ++lane) total += sum[m][j][lane];
            y[m * n + j] = total;
        }
}

/// The same for rows of numbers that have no scale.
template <int M, int W, class T>
void dot_products(const Stored<T>* first, const BlockMatrix& w, const Rows& x, Real* y) {
    const Index k = w.d_in(), n = w.d_out(), whole = k - k % stretch;
    Lanes sum[M][W];
    for (auto& of_row : sum)
        for (Lanes& s : of_row) s.setZero();
    for (Index i = 0; i < whole; i += stretch)
#pragma GCC unroll 4
        for (int j = 0; j < W; ++j) {
            const Stored<T>* const from = first + j * k + i;
            __builtin_prefetch(reinterpret_cast<const std::byte*>(from) + 4096, 0, 3);
            alignas(64) Real numbers[stretch];  // in one loop, which compilers prefer here
            for (int p = 0; p < stretch; ++p) numbers[p] = static_cast<Real>(from[p].number());
            for (int m = 0; m < M; ++m) {
                const Real* const row = x.numbers + m * k + i;
                sum[m][j] += ConstLanesMap(numbers) * ConstLanesMap(row) +
                             ConstLanesMap(numbers + lanes) * ConstLanesMap(row + lanes);
            }
        }
    for (int m = 0; m < M; ++m)
        for (int j = 0; j < W; ++j) {
            Real rest = 0;
            for (Index i = whole; i < k; ++i)
                rest += static_cast<Real>(first[j * k + i].number()) * x.numbers[m * k + i];
            y[m * n + j] = sum[m][j].sum() + rest;
        }
}

/// Columns `begin` to `end - 1` of a product of `m` rows, at most `M`.
template <class Block, int M>
void product_of_few(const BlockMatrix& w, const Rows& x, Index m, Index begin, Index end, Real* y) {
    constexpr int width = M == 1 ? 4 : 2;  // rows of the matrix at once
    const auto row = [&](Index i) { return reinterpret_cast<const Block*>(w.row(i)); };
    if (m == M) {
        for (; begin + width <= end; begin += width)
            dot_products<M, width>(row(begin), w, x, y + begin);
        for (; begin < end; ++begin) dot_products<M, 1>(row(begin), w, x, y + begin);
    } else if constexpr (M > 1) {
        product_of_few<Block, M - 1>(w, x, m, begin, end, y);
    }
}

// [few rows: rounded]
/// Rounds each stretch, and writes its scale and sum. Infinity and NaN are left to the sum.
void round_stretches(const Real* x, Index count, std::int16_t* to, float* scales, float* sums) {
    for (Index i = 0; i < count; ++i, x += stretch, to += stretch) {
        const ConstVectorMap numbers(x, stretch);
        const Real scale = numbers.cwiseAbs().maxCoeff() / 32767, per_number = 1 / scale;
        scales[i] = static_cast<float>(scale);
        sums[i] = static_cast<float>(numbers.sum());
        const bool rounds = std::isfinite(sums[i]) && std::isfinite(per_number);
        for (int j = 0; j < stretch; ++j)
            to[j] = static_cast<std::int16_t>(rounds ? std::rint(x[j] * per_number) : 0);
    }
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
    const Index n = w.d_out(), k = w.d_in(), m = rows(x.shape());
    Tensor y(x.shape().with(-1, n));
    const bool scaled = format_of(w.kind()).numbers > 1;
    if (m > few || (scaled && sizeof(Real) > sizeof(float))) {
        constexpr Index panel = 96;  // rows, few enough for a core's cache
        parallel_ranges(n, panel, [&](Index i, Index end) { product_of_many(w, x, i, end, y); });
        return y;
    }
    const Index stretches = scaled ? m * k / stretch : 0;
    const auto count = static_cast<std::size_t>(stretches);
    thread_local std::vector<std::int16_t> rounded;
    thread_local std::vector<float> scales, sums;
    rounded.resize(count * stretch), scales.resize(count), sums.resize(count);
    round_stretches(x.data(), stretches, rounded.data(), scales.data(), sums.data());
    const Rows of_x{x.data(), rounded.data(), scales.data(), sums.data()};
    // In fours, so that the same rows are left to be taken one at a time, whose bits may differ,
    // for any number of threads; and long, because the beginning of a range is not prefetched.
    const Index some = ceil_div(n, 16 * threads()) * 4;
    with_block(w.kind(), [&]<class Block>(const Block*) {
        parallel_ranges(n, some, [&](Index i, Index end) {
            product_of_few<Block, few>(w, of_x, m, i, end, y.data());
        });
    });
    return y;
}

}  // namespace abh::fast
