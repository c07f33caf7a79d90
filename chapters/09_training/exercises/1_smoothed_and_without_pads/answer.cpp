// Exercise 09.1: cross entropy with label smoothing, and ignored targets.
#include <cmath>
#include <stdexcept>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {

// solution
namespace {

Index count(const Ids& targets, std::int32_t ignore) {
    Index counted = 0;
    for (const std::int32_t target : targets.values())
        if (target != ignore) ++counted;
    return counted;
}

}  // namespace
// stub
// end

/// The mean of `- sum_j pi_j ln softmax(logits)_j` over the targets that count.
/// @param logits     `[R, n_words]`
/// @param targets    `[R]`, at least one of them not `ignore`
/// @param smoothing  0 or more, less than 1
double cross_entropy(const Tensor& logits, const Ids& targets, Real smoothing,
                     std::int32_t ignore) {
    // solution
    Real sum = 0;
    for (Index r = 0; r < logits.dim(0); ++r) {
        const std::int32_t target = targets(r);
        if (target == ignore) continue;
        const auto row = matrix(logits).row(r);
        const Real largest = row.maxCoeff();
        const Real l = largest + std::log((row.array() - largest).exp().sum());
        sum += (1 - smoothing) * (l - row(target)) + smoothing * (l - row.mean());
    }
    return sum / static_cast<Real>(count(targets, ignore));
    // stub
    // throw std::logic_error("not written yet");
    // end
}

/// @return  the gradient of `cross_entropy` with respect to the logits, `[R, n_words]`
Tensor cross_entropy_backward(const Tensor& logits, const Ids& targets, Real smoothing,
                              std::int32_t ignore) {
    // solution
    const Tensor p = softmax(logits);
    const Index n = logits.dim(1);
    const Real even = smoothing / static_cast<Real>(n);
    const Real m = static_cast<Real>(count(targets, ignore));
    Tensor dz = Tensor::zeros(logits.shape());
    for (Index r = 0; r < logits.dim(0); ++r) {
        const std::int32_t target = targets(r);
        if (target == ignore) continue;
        for (Index j = 0; j < n; ++j) dz(r, j) = (p(r, j) - even) / m;
        dz(r, target) -= (1 - smoothing) / m;
    }
    return dz;
    // stub
    // throw std::logic_error("not written yet");
    // end
}

// Your functions in the form in which the book calls them, so that the toy can train with them.

/// @param logits   `[B, L, n_words]`
/// @param targets  `[B, L]`
/// @return         the sum over the targets that count, which the book divides by their number
double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    if (cache) cache->probabilities = softmax(logits);
    double counted = 0;
    for (const std::int32_t target : targets.values()) counted += target != options.ignore;
    const Index n_rows = targets.size();
    return counted * cross_entropy(logits.reshape({n_rows, logits.dim(2)}),
                                   targets.reshape({n_rows}), options.smoothing, options.ignore);
}

Tensor cross_entropy_backward(const CrossEntropyCache& cache) {
    Tensor logits = cache.probabilities.clone();
    for (Real& z : logits.values()) z = std::log(z);  // logits with the same softmax
    const Index n_rows = cache.targets.size();
    return cross_entropy_backward(logits.reshape({n_rows, logits.dim(2)}),
                                  cache.targets.reshape({n_rows}), cache.options.smoothing,
                                  cache.options.ignore)
        .reshape(logits.shape());
}

}  // namespace abh::mine
