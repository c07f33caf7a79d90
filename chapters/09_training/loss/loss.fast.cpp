#include "chapters/09_training/loss/loss.fast.hpp"

#include <cmath>
#include <numeric>

#include "lib/eigen.hpp"
#include "lib/fast/exp.hpp"
#include "lib/fast/parallel.hpp"

namespace abh::fast {
// [cross entropy]
namespace {

/// Writes the softmax of one row of logits into `p`, which may be the row itself.
/// @return  the row's loss
double softmax_and_loss(const Real* logits, std::int32_t target, const CrossEntropyOptions& options,
                        Real* p, Index n) {
    const ConstVectorMap x(logits, n);
    const double e = static_cast<double>(options.smoothing);
    const double mean = e == 0 ? 0 : static_cast<double>(x.mean());
    const double at_target = static_cast<double>(x(target));
    const Real row_max = x.maxCoeff();
    const Real total = exp_and_sum(x.data(), row_max, p, n);
    VectorMap(p, n) *= 1 / total;
    if (target == options.ignore) return 0;
    const double log_total = static_cast<double>(row_max + std::log(total));
    return (1 - e) * (log_total - at_target) + (e == 0 ? 0 : e * (log_total - mean));
}

/// Calls `loss = f(r)` for each row, and returns the sum of the losses.
template <class F>
double sum_over_rows(Index n_rows, const F& f) {
    BasicTensor<double> losses({n_rows});
    parallel_ranges(n_rows, 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) losses(r) = f(r);
    });
    return std::accumulate(losses.values().begin(), losses.values().end(), 0.0);
}

}  // namespace

double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    const Index n = logits.dim(2);
    Tensor p({targets.size(), n});
    if (cache) cache->probabilities = p;
    return sum_over_rows(targets.size(), [&](Index r) {
        return softmax_and_loss(logits.data() + r * n, targets.data()[r], options, p.data() + r * n,
                                n);
    });
}
// [backward]
namespace {

/// Writes `(p - pi) * share` for one row into `dlogits`, which may be `p` itself.
void p_minus_pi(const Real* p, std::int32_t target, const CrossEntropyOptions& options, Real share,
                Real* dlogits, Index n) {
    VectorMap row(dlogits, n);
    if (target == options.ignore) {
        row.setZero();
        return;
    }
    const Real e = options.smoothing, even = e / static_cast<Real>(n);
    row.array() = (ConstVectorMap(p, n).array() - even) * share;
    row(target) -= (1 - e) * share;
}

}  // namespace

Tensor cross_entropy_backward(const CrossEntropyCache& cache) {
    const Ids& targets = cache.targets;
    const Index n = cache.probabilities.dim(1);
    Tensor dlogits({targets.dim(0), targets.dim(1), n});
    const Real share = 1 / static_cast<Real>(cache.counted);
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r)
            p_minus_pi(cache.probabilities.data() + r * n, targets.data()[r], cache.options, share,
                       dlogits.data() + r * n, n);
    });
    return dlogits;
}
// [in place]
double cross_entropy_in_place(Tensor& logits, const Ids& targets,
                              const CrossEntropyOptions& options, Index counted) {
    const Index n = logits.dim(2);
    const Real share = 1 / static_cast<Real>(counted);
    return sum_over_rows(targets.size(), [&](Index r) {
        Real* const row = logits.data() + r * n;
        const std::int32_t target = targets.data()[r];
        const double loss = softmax_and_loss(row, target, options, row, n);
        p_minus_pi(row, target, options, share, row, n);
        return loss;
    });
}

}  // namespace abh::fast
