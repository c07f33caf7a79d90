#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "../on_ranks.hpp"
#include "judge/answer/serve.hpp"
#include "lib/eigen.hpp"

namespace abh::mine {
struct Step {
    double loss;
    Tensor dz;
};
using StepFunction = std::function<Step(Ranks& ranks, const Tensor& z, const Ids& targets)>;
Step step(Ranks& ranks, const Tensor& z, const Ids& targets);
bool accepts(const StepFunction& f);
}  // namespace abh::mine

using namespace abh;

namespace {

/// The losses, `[ranks, 1]`, and the gradients, `[ranks, V]`.
std::vector<Tensor> step(const Tensor& z, const Ids& targets) {
    return on_ranks(targets.dim(0), [&](Ranks& ranks) -> std::vector<Tensor> {
        const Index r = ranks.rank();
        const mine::Step own = mine::step(ranks, z, targets.rows(r, r + 1));
        return {Tensor({1}, {static_cast<Real>(own.loss)}), own.dz};
    });
}

/// One rank's sums over its words: of the gradient, of the loss, and the number of words.
Tensor own_sums(const Tensor& z, const Ids& targets) {
    const Index n = z.size();
    const Real largest = vector(z).maxCoeff();
    const Real log_sum = largest + std::log((vector(z).array() - largest).exp().sum());
    Tensor sums = Tensor::zeros({n + 2});
    for (const std::int32_t target : targets.values()) {
        if (target == 0) continue;
        for (Index i = 0; i < n; ++i) sums(i) += std::exp(z(i) - log_sum);
        sums(target) -= 1;
        sums(n) += log_sum - z(target);
        sums(n + 1) += 1;
    }
    return sums;
}

Tensor over_ranks(Ranks& ranks, const Tensor& x) {
    Tensor sum = x.clone();
    ranks.all_reduce(sum);
    return sum;
}

Tensor times(const Tensor& x, Real factor) {
    Tensor product = x.clone();
    product *= factor;
    return product;
}

/// The gradient of one result with the loss of another.
Tensor both(const Tensor& gradient, const Tensor& loss) {
    Tensor x = gradient.clone();
    const Index n = x.size() - 2;
    x(n) = loss(n);
    return x;
}

/// The gradient and the loss with the mistake `what`, or with none if that is "right".
Tensor result_of(const std::string& what, Ranks& ranks, const Tensor& z, const Ids& targets) {
    const Tensor own = own_sums(z, targets), all = over_ranks(ranks, own);
    const Real words = own(z.size() + 1), all_words = all(z.size() + 1),
               size = static_cast<Real>(ranks.size());
    const Tensor right = times(all, 1 / all_words);
    const Tensor mean = times(own, words > 0 ? 1 / words : 0);
    const Tensor means = over_ranks(ranks, mean);
    const Tensor has_words = over_ranks(ranks, Tensor({1}, {Real(words > 0)}));
    const Tensor of_means = times(means, 1 / has_words(0));
    if (what == "the mean of the ranks' means")
        return times(over_ranks(ranks, times(own, 1 / words)), 1 / size);
    if (what == "the mean of the means of those ranks that have words") return of_means;
    if (what == "the right loss, but the gradient of a mean of means") return both(of_means, right);
    if (what == "the right gradient, but a mean of means for the loss")
        return both(right, of_means);
    if (what == "divided by the number of targets, pads included")
        return times(all, 1 / (size * static_cast<Real>(targets.size())));
    if (what == "the sum over all words, not divided") return all;
    if (what == "the mean of each rank's own words") return mean;
    if (what == "right on rank 0, on all others the mean of their own words")
        return ranks.first() ? right : mean;
    if (what == "right unless a rank has no words, and NaN then")
        return has_words(0) == size ? right : times(right, std::numeric_limits<Real>::quiet_NaN());
    return right;
}

bool accepts(const std::string& what) {
    return mine::accepts([&](Ranks& ranks, const Tensor& z, const Ids& targets) -> mine::Step {
        if (what == "own") return mine::step(ranks, z, targets);
        const Tensor sums = result_of(what, ranks, z, targets);
        return {static_cast<double>(sums(z.size())), sums.rows(0, z.size())};
    });
}

}  // namespace

int main() {
    return judge::serve({{"step", judge::function(step)}, {"accepts", judge::function(accepts)}});
}
