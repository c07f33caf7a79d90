// Exercise 14.3: a mean of means.
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "chapters/14_on_many_machines/ranks/local.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {

/// What `step` returns, on each rank.
struct Step {
    double loss;
    Tensor dz;  ///< [V]
};
using StepFunction = std::function<Step(Ranks& ranks, const Tensor& z, const Ids& targets)>;

/// The mean of `-ln softmax(z)[target]` over the words of all ranks, and its gradient.
/// @param z        logits at every position, `[V]`, the same on all ranks
/// @param targets  those of this rank, `[1, T]`; the pad is 0
Step step(Ranks& ranks, const Tensor& z, const Ids& targets) {
    const Index n = z.size();
    const Real largest = vector(z).maxCoeff();
    const Real log_sum = largest + std::log((vector(z).array() - largest).exp().sum());
    Tensor sums = Tensor::zeros({n + 2});  // n of the gradient, the loss, the number of words
    for (const std::int32_t target : targets.values()) {
        if (target == 0) continue;
        for (Index i = 0; i < n; ++i) sums(i) += std::exp(z(i) - log_sum);
        sums(target) -= 1;
        sums(n) += log_sum - z(target);
        sums(n + 1) += 1;
    }
    // solution
    ranks.all_reduce(sums);
    sums *= 1 / sums(n + 1);
    // stub
    // sums *= 1 / sums(n + 1);
    // ranks.all_reduce(sums);
    // sums *= 1 / static_cast<Real>(ranks.size());
    // end
    return {static_cast<double>(sums(n)), sums.rows(0, n)};
}

/// What `f` returns on each rank; rank r has row r of the targets, `[ranks, T]`.
std::vector<Step> on_ranks(const StepFunction& f, const Tensor& z, const Ids& targets) {
    std::vector<Step> steps(static_cast<std::size_t>(targets.dim(0)));
    run_local_ranks(targets.dim(0), [&](Ranks& ranks) {
        const Index r = ranks.rank();
        steps[static_cast<std::size_t>(r)] = f(ranks, z, targets.rows(r, r + 1));
    });
    return steps;
}

/// Whether `f` returns, on every rank, the mean over the words of all ranks, and its gradient.
bool accepts(const StepFunction& f) {
    // solution
    // e^l = 2: the words 0, 1 and 2 have the probabilities 1/4, 1/2 and 1/4
    const Real l = std::log(Real(2));
    const Tensor z({3}, {0, l, 0});
    const Ids targets({3, 3}, {1, 2, 1, 2, 0, 0, 0, 0, 0});
    const double loss = (1 + 2 + 1 + 2) * static_cast<double>(l) / 4;
    const Tensor dz({3}, {Real(0.25), 0, Real(-0.25)});
    for (const Step& got : on_ranks(f, z, targets))
        if (!(std::abs(got.loss - loss) < 1e-9 && max_difference(got.dz, dz) < 1e-9)) return false;
    return true;
    // stub
    // return true;
    // end
}

}  // namespace abh::mine
