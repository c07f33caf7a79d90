#include "chapters/09_training/loss.hpp"

#include <cmath>
#include <vector>

#include "chapters/09_training/loss.cuh"
#include "lib/eigen.hpp"
#include "lib/exp.hpp"
#include "lib/parallel.hpp"
#include "lib/profile.hpp"

namespace abh {
// [cross entropy]
namespace {

/// How many targets count. @throws std::invalid_argument if one is not a word, or none counts
Index count(const Ids& targets, Index n_words, std::int32_t ignore) {
    Index counted = 0;
    for (std::int32_t target : targets.values()) {
        require(target >= 0 && target < n_words, "cross entropy: target {} among {} words", target,
                n_words);
        counted += target != ignore;
    }
    require(counted > 0, "cross entropy: all {} targets are ignored", targets.size());
    return counted;
}

/// Softmax of the logits into `p`; returns the sum of the losses.
double sum_of_losses(Tensor& p, const Tensor& logits, const Ids& targets,
                     const CrossEntropyOptions& options) {
    const Index n = logits.dim(2);
    std::vector<double> losses(static_cast<std::size_t>(targets.size()));  // 0 where ignored
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const std::int32_t target = targets.data()[r];
            const ConstVectorMap x(logits.data() + r * n, n);
            const Real largest = x.maxCoeff();
            Real* const p_row = p.data() + r * n;
            const Real total = exp_and_sum(x.data(), largest, p_row, n);
            VectorMap(p_row, n) *= 1 / total;
            if (target == options.ignore) continue;
            const double log_total = static_cast<double>(largest + std::log(total));
            const double at_target = log_total - static_cast<double>(logits.data()[r * n + target]);
            const double e = static_cast<double>(options.smoothing);
            const double everywhere = e == 0 ? 0 : log_total - static_cast<double>(x.mean());
            losses[static_cast<std::size_t>(r)] = (1 - e) * at_target + e * everywhere;
        }
    });
    double sum = 0;
    for (double loss : losses) sum += loss;
    return sum;
}

}  // namespace

double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    const Timed timed("cross entropy");
    require(logits.rank() == 3 && targets.rank() == 2 && logits.dim(0) == targets.dim(0) &&
                logits.dim(1) == targets.dim(1),
            "cross entropy: logits have shape {}, targets {}", logits.shape(), targets.shape());
    require(options.smoothing >= 0 && options.smoothing < 1,
            "cross entropy: smoothing {}, expected 0 <= smoothing < 1", options.smoothing);
    const Index counted = count(targets, logits.dim(2), options.ignore);
    Tensor p({targets.size(), logits.dim(2)});
    const double sum = on_cuda()
                           ? cuda::cross_entropy(cache ? &p : nullptr, logits, targets, options)
                           : sum_of_losses(p, logits, targets, options);
    if (cache) *cache = {p, targets, counted, options};
    return sum / static_cast<double>(counted);
}
// [backward]
// forward was:  loss = mean of - sum_w q_w log p_w,  p = softmax(logits),  sum_w q_w = 1
// hence:        dlogits = (p - q) / counted in rows that count, 0 in the others
Tensor cross_entropy_backward(const CrossEntropyCache& cache) {
    const Timed timed("cross entropy");
    const Ids& targets = cache.targets;
    const Index n = cache.probabilities.dim(1);
    Tensor dlogits({targets.dim(0), targets.dim(1), n});
    if (on_cuda()) return cuda::cross_entropy_backward(dlogits, cache), dlogits;
    const Real e = cache.options.smoothing, even = e / static_cast<Real>(n);
    const Real share = 1 / static_cast<Real>(cache.counted);
    parallel_ranges(targets.size(), 16, [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
            const std::int32_t target = targets.data()[r];
            auto row = matrix(dlogits).row(r).array();  // [n_words]
            if (target == cache.options.ignore) {
                row = 0;
                continue;
            }
            row = (matrix(cache.probabilities).row(r).array() - even) * share;
            row(target) -= (1 - e) * share;
        }
    });
    return dlogits;
}

}  // namespace abh
