#include "chapters/09_training/loss/loss.hpp"
#include "lib/cuda/exp.cuh"

namespace abh::cuda {
// [cross entropy]
namespace {

/// One block per row, with its threads side by side along the words, four of which each takes at
/// once. One pass over the row finds its largest logit and the sum of the exponentials, because a
/// thread that meets a larger logit rescales its sum. Probabilities need a second pass, which
/// mostly reads from the device's cache. Bytes are the limit: a row is read once, or twice and
/// written, for ten operations per word.
__global__ void cross_entropy_kernel(Index n, Global<const Real> logits,
                                     Global<const std::int32_t> targets, std::int32_t ignore,
                                     Real smoothing, Global<Real> probabilities,
                                     Global<double> losses) {
    const Index row = blockIdx.x;
    const Global<const Real> x = logits + row * n;
    Real row_max = lowest, total = 0, sum = 0;
    for_row(n, [&](const SomeOfRow& some) {
        Real v[SomeOfRow::count];
        some.read(v, x, -infinity<Real>());
        const Real before = row_max;
        for (const Real logit : v) row_max = logit > row_max ? logit : row_max;
        total *= exp(before - row_max);
        for (int e = 0; e < some.count; ++e) {
            total += exp(v[e] - row_max);
            sum += some.has(e) ? v[e] : Real(0);
        }
    });
    const Real of_thread = row_max;
    row_max = block_max(row_max);
    total = block_sum(total * exp(of_thread - row_max));
    sum = block_sum(sum);
    if (probabilities)
        for_row(n, [&, inverse = 1 / total, p = probabilities + row * n](const SomeOfRow& some) {
            Real v[SomeOfRow::count];
            some.read(v, x, lowest);
            for (int e = 0; e < some.count; ++e)
                if (some.has(e)) p[some.at(e)] = exp_or_zero(v[e] - row_max) * inverse;
        });
    if (threadIdx.x > 0) return;
    const std::int32_t target = targets[row];
    const double log_total = static_cast<double>(row_max + log(total));
    const double at_target = log_total - static_cast<double>(Real(x[target]));
    const double everywhere = log_total - static_cast<double>(sum / static_cast<Real>(n));
    const double e = static_cast<double>(smoothing);
    losses[row] = target == ignore ? 0 : e == 0 ? at_target : (1 - e) * at_target + e * everywhere;
}

/// One block adds up the losses of all rows, always in the same order.
__global__ void add_losses_kernel(Index n_rows, Global<const double> losses, Global<double> sum) {
    double own = 0;
    for (Index r = threadIdx.x; r < n_rows; r += block_size) own += losses[r];
    own = block_sum_of_doubles(own);
    if (threadIdx.x == 0) sum[0] = own;
}

}  // namespace

double cross_entropy(const Tensor& logits, const Ids& targets, const CrossEntropyOptions& options,
                     CrossEntropyCache* cache) {
    if (cache) cache->probabilities = Tensor({targets.size(), logits.dim(2)});
    const Index n_rows = targets.size(), n = logits.dim(2);
    BasicTensor<double> losses({n_rows}), sum({1});
    launch("cross entropy", cross_entropy_kernel, block_a_row(n_rows, n), n, logits.on_device(),
           targets.on_device(), options.ignore, options.smoothing,
           cache ? cache->probabilities.on_device() : nullptr, losses.on_device());
    launch("add losses", add_losses_kernel, blocks_of(1), n_rows, losses.on_device(),
           sum.on_device());
    return std::as_const(sum)(0);
}
// [backward]
namespace {

/// One block per row computes `(p - pi) / counted`, and reads and writes one number per word.
__global__ void cross_entropy_backward_kernel(Index n, Global<Real> dlogits,
                                              Global<const Real> probabilities,
                                              Global<const std::int32_t> targets,
                                              std::int32_t ignore, Real smoothing, Real share) {
    const Index row = blockIdx.x;
    const std::int32_t target = targets[row];
    const Real even = smoothing / static_cast<Real>(n);
    for_row(n, [&, dx = dlogits + row * n](const SomeOfRow& some) {
        Real p[SomeOfRow::count];
        some.read(p, probabilities + row * n, 0);
        for (int e = 0; e < some.count; ++e) {
            const Real pi = even + (some.at(e) == target ? 1 - smoothing : Real(0));
            if (some.has(e)) dx[some.at(e)] = target == ignore ? 0 : (p[e] - pi) * share;
        }
    });
}

}  // namespace

Tensor cross_entropy_backward(const CrossEntropyCache& cache) {
    const Index n_rows = cache.targets.size(), n = cache.probabilities.dim(1);
    Tensor dlogits({cache.targets.dim(0), cache.targets.dim(1), n});
    launch("cross entropy backward", cross_entropy_backward_kernel, block_a_row(n_rows, n), n,
           dlogits.on_device(), cache.probabilities.on_device(), cache.targets.on_device(),
           cache.options.ignore, cache.options.smoothing, 1 / static_cast<Real>(cache.counted));
    return dlogits;
}

}  // namespace abh::cuda
