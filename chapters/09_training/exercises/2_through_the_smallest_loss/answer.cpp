// Exercise 09.2: the z-loss.
#include <cmath>
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {

// solution
namespace {

/// `ln sum_k exp(z_k)` for each row that counts, and 0 for the others; `[R]`.
Tensor log_sums(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options) {
    Tensor sums = Tensor::zeros({targets.size()});
    for (Index r = 0; const std::int32_t target : targets.values()) {
        const auto row = matrix(logits).row(r);
        if (target != options.ignore) {
            sums(r) = row.maxCoeff() + std::log((row.array() - row.maxCoeff()).exp().sum());
        }
        ++r;
    }
    return sums;
}

}  // namespace
// stub
// end

/// `cross_entropy` plus `lambda` times the mean of the squares of `ln sum_k exp(z_k)` over the rows
/// that count.
/// @param logits   `[B, L, n_words]`
/// @param targets  `[B, L]`
double z_cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                       Real lambda) {
    // solution
    const Tensor l = log_sums(logits, targets, options);
    const Index counted = count_targets(targets, logits.dim(2), options);
    return cross_entropy(logits, targets, options) +
           lambda * dot(l, l) / static_cast<double>(counted);
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// @return  the gradient of `z_cross_entropy` with respect to the logits, `[B, L, n_words]`
Tensor z_cross_entropy_backward(const Tensor& logits, const Ids& targets,
                                const CrossEntropyOptions& options, Real lambda) {
    // solution
    CrossEntropyCache cache;
    cross_entropy(logits, targets, options, &cache);
    Tensor dlogits = cross_entropy_backward(cache);
    const Tensor sums = log_sums(logits, targets, options);
    const Index n_words = logits.dim(2);
    const Tensor p = softmax(logits).reshape({targets.size(), n_words});
    const Real m = static_cast<Real>(cache.counted);
    for (Index r = 0; r < targets.size(); ++r) {
        const Real l = sums(r);  // 0 where the target does not count
        for (Index j = 0; j < n_words; ++j) matrix(dlogits)(r, j) += 2 * lambda * l * p(r, j) / m;
    }
    return dlogits;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

}  // namespace abh::mine
