#include "chapters/09_training/loss.hpp"

#include <cmath>
#include <numeric>

#include "chapters/09_training/loss.cuh"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [cross entropy]
namespace {

/// Softmax of one row of logits into `p`, which may be the row itself. @return  the row's loss
double softmax_and_loss(const Real* logits, std::int32_t target, const CrossEntropyOptions& options,
                        Real* p, Index n) {
    const ConstVectorMap x(logits, n);
    const double e = static_cast<double>(options.smoothing);
    const double mean = e == 0 ? 0 : static_cast<double>(x.mean());
    const double at_target = static_cast<double>(x(target));
    const Real largest = x.maxCoeff();
    const Real total = exp_and_sum(x.data(), largest, p, n);
    VectorMap(p, n) *= 1 / total;
    if (target == options.ignore) return 0;
    const double log_total = static_cast<double>(largest + std::log(total));
    return (1 - e) * (log_total - at_target) + (e == 0 ? 0 : e * (log_total - mean));
}

double sum(const BasicTensor<double>& losses) {
    const auto values = losses.values();
    return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Softmax of the logits into `p`; returns the sum of the losses.
double sum_of_losses(Tensor& p, const Tensor& logits, const Ids& targets,
                     const CrossEntropyOptions& options) {
    const Index n = logits.dim(2);
    BasicTensor<double> losses({targets.size()});
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r)
            losses(r) = softmax_and_loss(logits.data() + r * n, targets.data()[r], options,
                                         p.data() + r * n, n);
    });
    return sum(losses);
}

}  // namespace

Index count_targets(const Ids& targets, Index n_words, const CrossEntropyOptions& options) {
    require(options.smoothing >= 0 && options.smoothing < 1,
            "cross entropy: smoothing {}, expected 0 <= smoothing < 1", options.smoothing);
    Index counted = 0;
    for (std::int32_t target : targets.values()) {
        require(target >= 0 && target < n_words, "cross entropy: target {} among {} words", target,
                n_words);
        counted += target != options.ignore;
    }
    require(counted > 0, "cross entropy: all {} targets are ignored", targets.size());
    return counted;
}

double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    const Timed timed("cross entropy");
    require(logits.rank() == 3 && targets.rank() == 2 && logits.dim(0) == targets.dim(0) &&
                logits.dim(1) == targets.dim(1),
            "cross entropy: logits have shape {}, targets {}", logits.shape(), targets.shape());
    const Index counted = count_targets(targets, logits.dim(2), options);
    Tensor p({targets.size(), logits.dim(2)});
    const double losses = on_cuda()
                              ? cuda::cross_entropy(cache ? &p : nullptr, logits, targets, options)
                              : sum_of_losses(p, logits, targets, options);
    if (cache) *cache = {p, targets, counted, options};
    return losses / static_cast<double>(counted);
}
// [backward]
// forward was:  loss = mean of - sum_w q_w log p_w,  p = softmax(logits),  sum_w q_w = 1
// hence:        dlogits = (p - q) / counted in rows that count, 0 in the others
namespace {

/// One row: `(p - q) * share` into `dlogits`, which may be `p` itself.
void p_minus_q(const Real* p, std::int32_t target, const CrossEntropyOptions& options, Real share,
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
    const Timed timed("cross entropy");
    const Ids& targets = cache.targets;
    const Index n = cache.probabilities.dim(1);
    Tensor dlogits({targets.dim(0), targets.dim(1), n});
    if (on_cuda()) return cuda::cross_entropy_backward(dlogits, cache), dlogits;
    const Real share = 1 / static_cast<Real>(cache.counted);
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r)
            p_minus_q(cache.probabilities.data() + r * n, targets.data()[r], cache.options, share,
                      dlogits.data() + r * n, n);
    });
    return dlogits;
}
// [in place]
double cross_entropy_in_place(Tensor& logits, const Ids& targets,
                              const CrossEntropyOptions& options, Index counted) {
    const Timed timed("cross entropy");
    const Index n = logits.dim(2);
    if (on_cuda()) {
        Tensor p({targets.size(), n});
        const double losses = cuda::cross_entropy(&p, logits, targets, options);
        cuda::cross_entropy_backward(logits, {p, targets, counted, options});
        return losses;
    }
    const Real share = 1 / static_cast<Real>(counted);
    BasicTensor<double> losses({targets.size()});
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            Real* const row = logits.data() + r * n;
            const std::int32_t target = targets.data()[r];
            losses(r) = softmax_and_loss(row, target, options, row, n);
            p_minus_q(row, target, options, share, row, n);
        }
    });
    return sum(losses);
}

}  // namespace abh
