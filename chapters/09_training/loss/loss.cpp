#include "chapters/09_training/loss/loss.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "lib/eigen.hpp"

namespace abh {
namespace plain {
decltype(cross_entropy) cross_entropy;
decltype(cross_entropy_backward) cross_entropy_backward;
}  // namespace plain
namespace fast {
decltype(cross_entropy) cross_entropy;
decltype(cross_entropy_backward) cross_entropy_backward;
}  // namespace fast
namespace cuda {
decltype(cross_entropy) cross_entropy;
decltype(cross_entropy_backward) cross_entropy_backward;
}  // namespace cuda
// [checks]
Index count_targets(const Ids& targets, Index n_words, const CrossEntropyOptions& options) {
    require(options.smoothing >= 0 && options.smoothing < 1,
            "cross entropy: smoothing {}, expected 0 <= smoothing < 1", options.smoothing);
    Index counted = 0;
    for (std::int32_t target : targets.values()) {
        require(target >= 0 && target < n_words,
                "cross entropy: target {} is not in a vocabulary of {} words", target, n_words);
        counted += target != options.ignore;
    }
    require(counted > 0, "cross entropy: all {} targets are ignored", targets.size());
    if (options.n_targets == 0) return counted;
    require(options.n_targets >= counted,
            "cross entropy: {} targets count, but the step has only {}", counted,
            options.n_targets);
    return options.n_targets;
}
// [cross entropy]
double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    require(
        logits.rank() == 3 && targets.rank() == 2 && logits.dim(0) == targets.dim(0) &&
            logits.dim(1) == targets.dim(1),
        "cross entropy: logits have shape {} and targets {}, expected [B, L, n_words] and [B, L]",
        logits.shape(), targets.shape());
    const Index counted = count_targets(targets, logits.dim(2), options);
    if (cache) *cache = {way(), {}, targets, counted, options};
    return Ways{"cross entropy", plain::cross_entropy, fast::cross_entropy, cuda::cross_entropy}(
               logits, targets, options, cache) /
           static_cast<double>(counted);
}

Tensor cross_entropy_backward(const CrossEntropyCache& cache) {
    const ScopedWay scoped(cache.way);
    return Ways{"cross entropy", plain::cross_entropy_backward, fast::cross_entropy_backward,
                cuda::cross_entropy_backward}(cache);
}
// [plain]
/// The sum of the losses of all rows.
double plain::cross_entropy(const Tensor& logits, const Ids& targets,
                            const CrossEntropyOptions& options, CrossEntropyCache* cache) {
    const Tensor p = softmax(logits.reshape({targets.size(), logits.dim(2)}));  // [rows, n_words]
    const double e = static_cast<double>(options.smoothing);
    double sum = 0;
    // [plain: rows]
    for (Index r = 0; std::int32_t target : targets.values()) {
        const auto z = matrix(logits).row(r++).cast<double>();
        if (target == options.ignore) continue;  // a pad does not count
        const double log_total = z.maxCoeff() + std::log((z.array() - z.maxCoeff()).exp().sum());
        sum += (1 - e) * (log_total - z(target));      // - ln p; e is 0 unless targets are smoothed
        if (e > 0) sum += e * (log_total - z.mean());  // 0 * infinity is NaN
    }
    // [plain: kept]
    if (cache) cache->probabilities = p;
    return sum;
}
// [plain: backward]
// forward was:  loss = mean of - sum_j pi_j log p_j,  p = softmax(logits),  sum_j pi_j = 1
// hence:        dlogits = (p - pi) / counted in rows that count, 0 in the others
Tensor plain::cross_entropy_backward(const CrossEntropyCache& cache) {
    const auto& [way, p, targets, counted, options] = cache;
    const Index n = p.dim(1);
    const Real even = options.smoothing / static_cast<Real>(n);  // pi of all words but the target
    Tensor dlogits = Tensor::zeros({targets.dim(0), targets.dim(1), n});
    // [plain: backward, rows]
    for (Index r = 0; std::int32_t target : targets.values()) {
        const auto row = matrix(p).row(r);
        auto dz = matrix(dlogits).row(r++);
        if (target == options.ignore) continue;  // it stays 0
        dz = row.array() - even;
        dz(target) -= 1 - options.smoothing;  // p minus 1 at the right word
        dz /= static_cast<Real>(counted);
    }
    // [plain: backward, end]
    return dlogits;
}

}  // namespace abh
