#include "chapters/15_language_model/rms_norm.hpp"

#include <cmath>

#include "lib/eigen.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
namespace {

using Row = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, 1>>;
using ConstRow = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, 1>>;

constexpr Index some = 16, many = 64;  // rows at a time; rows whose shares of dgamma add up

}  // namespace
// [forward]
Tensor rms_norm(const Tensor& x, const RmsNorm& norm, RmsNorm::Cache* cache) {
    const Index n = x.dim(-1);
    Tensor y(x.shape()), x_hat = cache ? Tensor(x.shape()) : y, inverse_rms({rows(x.shape())});
    if (cache) cache->normalized = x_hat, cache->inverse_rms = inverse_rms;
    parallel_ranges(rows(x.shape()), some, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const ConstRow row(x.data() + r * n, n);
            Row normalized(x_hat.data() + r * n, n);
            inverse_rms(r) = 1 / std::sqrt(row.square().mean() + norm.eps());
            normalized = row * inverse_rms(r);
            Row(y.data() + r * n, n) = normalized * vector(norm.gamma.value).array();
        }
    });
    return y;
}
// [backward]
Tensor rms_norm_backward(const Tensor& dy, RmsNorm& norm, const RmsNorm::Cache& cache) {
    const Index n = dy.dim(-1), n_rows = rows(dy.shape());
    Tensor dx(dy.shape()), shares = Tensor::zeros({ceil_div(n_rows, many), n});
    parallel_ranges(n_rows, many, [&](Index begin, Index end) {
        Row dgamma(&shares(begin / many, 0), n);
        for (Index r = begin; r < end; ++r) {
            const ConstRow dy_row(dy.data() + r * n, n), x_hat(cache.normalized.data() + r * n, n);
            Row dx_hat(dx.data() + r * n, n);
            dgamma += dy_row * x_hat;
            dx_hat = dy_row * vector(norm.gamma.value).array();
            const Real along = (dx_hat * x_hat).mean();
            dx_hat = (dx_hat - x_hat * along) * cache.inverse_rms(r);
        }
    });
    add_column_sums(norm.gamma.grad(), shares);
    return dx;
}

}  // namespace abh::fast
