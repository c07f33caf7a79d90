#include "chapters/15_language_model/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

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
// [order]
/// The words, the likeliest first; of equal ones the first.
std::vector<std::size_t> likeliest_first(std::span<const Real> z) {
    std::vector<std::size_t> order(z.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t j) { return z[j]; });
    require(std::isfinite(z[order[0]]), "sampling: the largest logit is {}", z[order[0]]);
    return order;
}

}  // namespace
// [sampling]
std::vector<double> sampling_probabilities(const Tensor& logits, const SamplingOptions& o) {
    check(logits, o);
    const std::span<const Real> z = logits.values();
    const bool greedy = o.temperature == 0;
    const Real temperature = greedy ? 1 : o.temperature, top_p = o.top_p;
    const auto top_k = static_cast<std::size_t>(greedy ? 1 : o.top_k);
    std::vector<double> p(z.size(), 0);
    // [sampling: the idea]
    std::vector<std::size_t> order = likeliest_first(z);
    // top-k: the other words keep probability 0
    if (top_k > 0 && top_k < order.size()) order.resize(top_k);
    // the exponentials of softmax at this temperature; the division comes last
    const Real largest = z[order[0]];
    double sum = 0, kept = 0;
    for (const std::size_t j : order) {
        p[j] = std::exp((z[j] - largest) / temperature);
        sum += p[j];
    }
    // top-p: a word stays until p is reached, and the one that reaches it stays, too
    const double enough = top_p * sum;
    for (const std::size_t j : order) {
        if (kept >= enough) p[j] = 0;
        kept += p[j];
    }
    for (double& pj : p) pj /= kept;
    // [sampling: its result]
    return p;
}
// [draw]
std::int32_t sample(const std::vector<double>& p, double u) {
    double sum = 0;
    std::size_t word = 0;
    for (std::size_t j = 0; j < p.size() && sum <= u; ++j) {
        if (p[j] > 0) word = j;  // the last one, if rounding leaves the sum below u
        sum += p[j];
    }
    return static_cast<std::int32_t>(word);
}

}  // namespace abh
