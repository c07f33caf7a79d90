#pragma once

#include <algorithm>
#include <cmath>

#include "chapters/06_feed_forward/layer_norm.hpp"
#include "lib/fast/lanes.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [rows]
using Row = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;
using ConstRow = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, 1>>;

constexpr Index some = 16;  // rows at a time, few enough to stay in a core's cache

/// Writes `normalized` and `y`, and returns 1 / sqrt(var + eps). The three rows may be the same.
inline Real normalize_row(const LayerNorm& norm, const Real* x, Real* normalized, Real* y) {
    const Index n = norm.d_model();
    const ConstRow row(x, n);
    Row x_hat(normalized, n);
    const Real mean = row.mean();
    const Real variance = (row - mean).square().mean();
    const Real inverse_stddev = 1 / std::sqrt(variance + norm.options().eps);
    x_hat = (row - mean) * inverse_stddev;
    Row(y, n) = x_hat * vector(norm.gamma.value).array() + vector(norm.beta.value).array();
    return inverse_stddev;
}
// [forward]
/// `layer_norm` of the rows at the address that `source(begin, end, x_hat)` returns. `source` may
/// first write them into the same rows of `x_hat`, whose memory is the cache's or, at inference,
/// the result's.
template <class Source>
Tensor normalize_rows(const Shape& shape, const LayerNorm& norm, LayerNorm::Cache* cache,
                      const Source& source) {
    const Index n = shape[-1];
    Tensor y(shape), x_hat = cache ? Tensor(shape) : y, inverse_stddev({rows(shape)});
    if (cache) cache->normalized = x_hat, cache->inverse_stddev = inverse_stddev;
    parallel_ranges(rows(shape), some, [&](Index begin, Index end) {
        const Real* const first = source(begin, end, x_hat);
        for (Index r = begin; r < end; ++r) {
            const Real* const row = first + (r - begin) * n;
            prefetch(row + n, r + 1 < end ? n : 0);
            inverse_stddev(r) = normalize_row(norm, row, x_hat.data() + r * n, y.data() + r * n);
        }
    });
    return y;
}
// [backward]
inline void normalize_row_backward(const LayerNorm& norm, const ConstRow& dy, const ConstRow& x_hat,
                                   Real inverse_stddev, Real* dx) {
    Row dx_hat(dx, norm.d_model());
    dx_hat = dy * vector(norm.gamma.value).array();
    const Real mean = dx_hat.mean(), mean_along = (dx_hat * x_hat).mean();
    dx_hat = (dx_hat - mean - x_hat * mean_along) * inverse_stddev;
}

/// `layer_norm_backward`; `use(begin, end, dx)` reads rows of `dx` as soon as they are computed.
template <class Use>
Tensor normalize_rows_backward(const Tensor& dy, LayerNorm& norm, const LayerNorm::Cache& cache,
                               const Use& use) {
    const Tensor& x_hat = cache.normalized;
    const Index n = norm.d_model(), n_rows = rows(x_hat.shape());
    constexpr Index many = 4 * some;  // rows whose shares of dgamma and dbeta are added together
    Tensor dx(x_hat.shape()), shares = Tensor::zeros({ceil_div(n_rows, many), 2, n});
    parallel_ranges(n_rows, many, [&](Index first, Index last) {
        Row dgamma(&shares(first / many, 0, 0), n), dbeta(&shares(first / many, 1, 0), n);
        for (Index begin = first; begin < last; begin += some) {
            const Index end = std::min(last, begin + some);
            for (Index r = begin; r < end; ++r) {
                const ConstRow dy_row(dy.data() + r * n, n), x_hat_row(x_hat.data() + r * n, n);
                dgamma += dy_row * x_hat_row;
                dbeta += dy_row;
                normalize_row_backward(norm, dy_row, x_hat_row, cache.inverse_stddev(r),
                                       dx.data() + r * n);
            }
            use(begin, end, dx);
        }
    });
    if (norm.options().affine)
        for (Index i = 0; i < shares.dim(0); ++i) {
            vector(norm.gamma.grad()).array() += ConstRow(&shares(i, 0, 0), n);
            vector(norm.beta.grad()).array() += ConstRow(&shares(i, 1, 0), n);
        }
    return dx;
}

}  // namespace abh::fast
