#include "chapters/15_language_model/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace abh {
// [check]
namespace {

void check(const Tensor& logits, const SamplingOptions& o) {
    require(logits.rank() == 1 && logits.size() >= 1, "sampling: logits of shape {}, expected [n]",
            logits.shape());
    require(o.temperature >= 0 && std::isfinite(o.temperature),
            "sampling: temperature {}, expected 0 or more", o.temperature);
    require(o.top_k >= 0, "sampling: top-k {}, expected 0 (all) or more", o.top_k);
    require(o.top_p > 0 && o.top_p <= 1, "sampling: top-p {}, expected more than 0, at most 1",
            o.top_p);
    for (const Real x : logits.values()) require(!std::isnan(x), "sampling: a logit is NaN");
}

}  // namespace
// [sampling]
std::vector<double> sampling_probabilities(const Tensor& logits, const SamplingOptions& o) {
    check(logits, o);
    std::vector<Index> order(static_cast<std::size_t>(logits.size()));  // the likeliest first
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater(), [&](Index j) { return logits(j); });
    const Real most = logits(order[0]);
    std::vector<double> p(order.size(), 0);
    const Index allowed = o.temperature == 0 ? 1 : o.top_k == 0 ? logits.size() : o.top_k;
    if (std::ssize(order) > allowed) order.resize(static_cast<std::size_t>(allowed));
    double sum = 0;
    for (const Index j : order) {
        const double x = o.temperature == 0 ? 0 : (logits(j) - most) / o.temperature;
        sum += p[static_cast<std::size_t>(j)] = std::exp(x);
    }
    // [sampling: the fewest]
    double kept = 0;
    for (const Index j : order) {
        double& pj = p[static_cast<std::size_t>(j)];
        if (kept >= o.top_p * sum) pj = 0;
        kept += pj;
    }
    for (double& pj : p) pj /= kept;
    return p;
}
// [draw]
std::int32_t sample(const std::vector<double>& probabilities, double u) {
    double sum = 0;
    std::size_t last = 0;
    for (std::size_t j = 0; j < probabilities.size(); ++j) {
        if (probabilities[j] == 0) continue;
        last = j;  // if rounding leaves the sum below u
        sum += probabilities[j];
        if (sum > u) break;
    }
    return static_cast<std::int32_t>(last);
}

}  // namespace abh
