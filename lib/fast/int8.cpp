#include <cmath>
#include <limits>
#include <vector>

#include "lib/eigen.hpp"
#include "lib/fast/fewer_bits.hpp"
#include "lib/fast/parallel.hpp"

namespace abh {
namespace {
// [round]
/// Rounds the numbers of a row, and writes each plus `plus`.
/// @return the scale
template <class Number>
Real round_row(const Real* x, Index n, int plus, Number* to) {
    const Real largest = ConstVectorMap(x, n).array().abs().maxCoeff<Eigen::PropagateNaN>();
    const Real per_number = 127 / largest;
    if (!std::isfinite(largest) || !std::isfinite(per_number)) {
        std::fill_n(to, n, static_cast<Number>(plus));
        return std::isfinite(largest) ? 0 : std::numeric_limits<Real>::quiet_NaN();
    }
    for (Index i = 0; i < n; ++i)
        to[i] = static_cast<Number>(static_cast<int>(std::rint(x[i] * per_number)) + plus);
    return largest / 127;
}
// [dot products]
/// Writes the sums, `[m, n]`, of products of rows of `x`, `[m, k]`, with rows of `w`, `[n, k]`,
/// which it reads from memory once.
void dot_products(const std::uint8_t* x, Index m, const std::int8_t* w, Index n, Index k,
                  std::int32_t* sums) {
    for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < m; ++i) {
            std::int32_t sum = 0;  // compilers know instructions for these three lines
            for (Index p = 0; p < k; ++p) sum += int{x[i * k + p]} * int{w[j * k + p]};
            sums[i * n + j] = sum;
        }
}
// [weight]
/// A weight in 8 bits: number (i, j) stands for `number * scales[i]`.
struct Weight8 : Storage::Kept {
    explicit Weight8(const Tensor& w) : first(w.first()), shape(w.shape()) {}

    Index first;  ///< with the shape, which part of the storage this is
    Shape shape;
    std::vector<std::int8_t> numbers;  ///< row by row, for few rows of `x`; or empty
    /// `rows_at_once` of each product, for many; or empty
    std::vector<std::shared_ptr<const onednn::Packed>> packed;
    std::vector<Real> scales;
    std::vector<std::int32_t> sums;  ///< 128 times the sum of a row's numbers
};

/// How many rows of `x` are few: for these, a product reads each weight once, row by row.
constexpr Index few = 4;

/// How many rows of the weight oneDNN gets at a time.
Index rows_at_once(Index d_out) {
    return std::max<Index>(256, ceil_div(ceil_div(d_out, 8), 64) * 64);
}

std::shared_ptr<Weight8> rounded_weight(const Tensor& w) {
    const auto kept = std::make_shared<Weight8>(w);
    const Index n = w.dim(0), k = w.dim(1);
    kept->numbers.resize(static_cast<std::size_t>(n * k));
    kept->scales.resize(static_cast<std::size_t>(n));
    kept->sums.resize(kept->scales.size());
    parallel_ranges(n, 64, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            std::int8_t* const row = kept->numbers.data() + i * k;
            const auto at = static_cast<std::size_t>(i);
            kept->scales[at] = round_row(w.data() + i * k, k, 0, row);
            int sum = 0;
            for (Index j = 0; j < k; ++j) sum += row[j];
            kept->sums[at] = 128 * sum;
        }
    });
    return kept;
}

/// `w` in 8 bits, in the order that suits this many rows of `x`.
std::shared_ptr<const Weight8> in_int8(const Tensor& w, bool many) {
    Storage& storage = *w.storage();
    auto kept = std::dynamic_pointer_cast<const Weight8>(storage.kept());
    if (kept && (kept->first != w.first() || kept->shape != w.shape())) kept = nullptr;
    if (kept && !(many ? kept->packed.empty() : kept->numbers.empty())) return kept;
    const auto fresh = rounded_weight(w);
    if (many) {
        const Index n = w.dim(0), k = w.dim(1), some = rows_at_once(n);
        for (Index i = 0; i < n; i += some)
            fresh->packed.push_back(std::make_shared<const onednn::Packed>(
                fresh->numbers.data() + i * k, std::min(some, n - i), k));
        if (!kept) fresh->numbers = {};
    } else if (kept) {
        fresh->packed = kept->packed;
    }
    storage.keep(fresh);
    return fresh;
}

}  // namespace
// [product]
Tensor linear_in_int8(const Tensor& x, const Linear& map, bool relu) {
    const Index m = x.dim(0), k = map.d_in(), n = map.d_out();
    const bool many = m > few && onednn::has_int8();
    const Index rows = many ? onednn::Packed::rows_for(m) : m;
    const std::shared_ptr<const Weight8> w = in_int8(map.weight.value, many);
    thread_local std::vector<std::uint8_t> numbers;
    thread_local std::vector<Real> scales;
    numbers.resize(static_cast<std::size_t>(rows * k));
    scales.resize(static_cast<std::size_t>(m));
    std::uint8_t* const x8 = numbers.data();
    Real* const x_scales = scales.data();
    parallel_ranges(m, std::max<Index>(1, (1 << 14) / k), [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
            x_scales[i] = round_row(x.data() + i * k, k, 128, x8 + i * k);
    });
    Ids sums({rows, n});
    Tensor y({m, n});
    std::int32_t* const sum = sums.data();
    Real* const to = y.data();
    const std::int32_t* const w_sums = w->sums.data();
    const Real* const w_scales = w->scales.data();
    const Real* const bias = map.has_bias() ? map.bias.value.data() : nullptr;
    parallel_ranges(n, many ? rows_at_once(n) : 64, [&](Index begin, Index end) {
        const Index width = end - begin;
        std::int32_t* const some = sum + rows * begin;  // [rows, width]
        if (many)
            w->packed[static_cast<std::size_t>(begin / rows_at_once(n))]->multiply(x8, m, some);
        else
            dot_products(x8, m, w->numbers.data() + begin * k, width, k, some);
        for (Index i = 0; i < m; ++i)
            for (Index j = begin; j < end; ++j) {
                const Real v = static_cast<Real>(some[i * width + j - begin] - w_sums[j]) *
                                   (x_scales[i] * w_scales[j]) +
                               (bias ? bias[j] : 0);
                to[i * n + j] = relu && v < 0 ? 0 : v;
            }
    });
    return y;
}

}  // namespace abh
