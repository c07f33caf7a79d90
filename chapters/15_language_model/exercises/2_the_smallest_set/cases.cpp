#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "chapters/15_language_model/sampling.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

using Order = std::vector<Index>;

Order by_probability(const Tensor& p, bool first_of_equals) {
    Order order(static_cast<std::size_t>(p.size()));
    std::iota(order.begin(), order.end(), Index{0});
    if (!first_of_equals) std::ranges::reverse(order);
    std::ranges::stable_sort(order, std::greater(), [&](Index j) { return p(j); });
    return order;
}

/// Keeps the first `count` of the words in this order.
Tensor keep(const Tensor& p, const Order& order, std::size_t count, bool in_proportion = true) {
    Tensor kept = Tensor::zeros(p.shape());
    Real sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += kept(order[i]) = p(order[i]);
    if (in_proportion && sum > 0) kept *= 1 / sum;
    return kept;
}

void add(Cases& cases, const char* criterion, const Tensor& p, Real top_p) {
    const Order order = by_probability(p, true), last_first = by_probability(p, false);
    std::size_t count = 0, above = 0;
    for (Real sum = 0; sum < top_p && count < order.size(); ++count) sum += p(order[count]);
    while (above < order.size() && p(order[above]) >= 1 - top_p) ++above;
    const Tensor right = keep(p, order, count);

    Tensor logits(p.shape()), book(p.shape());  // the chapter's own function agrees
    for (Index j = 0; j < p.size(); ++j) logits(j) = std::log(p(j));
    const std::vector<double> found = sampling_probabilities(logits, {.top_p = top_p});
    for (Index j = 0; j < p.size(); ++j)
        book(j) = static_cast<Real>(found[static_cast<std::size_t>(j)]);
    require_close(right, book, "the smallest set");

    Tensor in_order = Tensor::zeros(p.shape());
    for (std::size_t i = 0; i < order.size(); ++i)
        in_order(static_cast<Index>(i)) = right(order[i]);
    cases.add(
        {.criterion = criterion,
         .call = "smallest_set",
         .arguments = values(p, top_p),
         .results = values(right),
         .about = fmt::format("{} words, of which {} are kept", p.size(), count),
         .names = {"probabilities", "top_p", "what is kept"},
         .mistakes = {
             {"the word with which the sum reaches top_p is left out, so the set has less than "
              "that",
              values(keep(p, order, count - 1))},
             {"the sum has reached top_p, but one more word is kept",
              values(keep(p, order, std::min(count + 1, order.size())))},
             {"the probabilities that are kept do not add up to 1",
              values(keep(p, order, count, false))},
             {"the words are in the order of their probabilities, not in their places",
              values(in_order)},
             {"of equal words the last is kept, not the first", values(keep(p, last_first, count))},
             {"each word is compared with 1 - top_p, but the sum of those kept counts",
              values(keep(p, order, above))},
             {"all words are kept", values(p)}}});
}

/// Probabilities of n words, and a p between two of their sums: `count` words are needed.
void draw(Cases& cases, Index n, std::size_t count) {
    Tensor p = cases.uniform({n}, -2, 2);
    Real sum = 0;
    for (Real& x : p.values()) sum += x = std::exp(x);
    p *= 1 / sum;
    const Order order = by_probability(p, true);
    Real top_p = -p(order[count - 1]) / 2;
    for (std::size_t i = 0; i < count; ++i) top_p += p(order[i]);
    add(cases, "the smallest set", p, top_p);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "the smallest set", Tensor({4}, {0.15, 0.5, 0.1, 0.25}), 0.8);
    draw(cases, 5, 1);
    draw(cases, 9, 4);
    draw(cases, 30, static_cast<std::size_t>(cases.between(3, 28)));
    // powers of two, whose sums are exact
    add(cases, "equal words", Tensor({4}, {0.25, 0.25, 0.25, 0.25}), 0.6);
    add(cases, "equal words", Tensor({5}, {0.125, 0.25, 0.125, 0.25, 0.25}), 0.3);
    add(cases, "exactly p", Tensor({4}, {0.125, 0.5, 0.125, 0.25}), 0.75);
    add(cases, "exactly p", Tensor({3}, {0.25, 0.5, 0.25}), 0.5);
    add(cases, "exactly p", Tensor({3}, {0.25, 0.5, 0.25}), 1);
    add(cases, "exactly p", Tensor({1}, {1}), 0.01);
}
