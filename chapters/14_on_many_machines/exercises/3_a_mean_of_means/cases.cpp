#include "judge/answer/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace abh;
using namespace abh::judge;

namespace {

double loss_of(const Tensor& z, std::int32_t target) {
    double sum = 0;
    for (const Real x : z.values()) sum += std::exp(static_cast<double>(x - z(target)));
    return std::log(sum);
}

/// Loss and gradient on every rank, where each word of rank r has the weight `weight(r)`.
std::vector<Value> weighed(const Tensor& z, const Ids& targets,
                           const std::function<double(Index)>& weight) {
    const Index n_ranks = targets.dim(0), n = z.size();
    Tensor loss = Tensor::zeros({n_ranks, 1}), dz = Tensor::zeros({n_ranks, n});
    for (Index r = 0; r < n_ranks; ++r)
        for (Index t = 0; t < targets.dim(1); ++t) {
            const std::int32_t target = targets(r, t);
            if (target == 0) continue;
            const double w = weight(r);
            for (Index to = 0; to < n_ranks; ++to) {
                loss(to, 0) += static_cast<Real>(w * loss_of(z, target));
                for (Index i = 0; i < n; ++i)
                    dz(to, i) +=
                        static_cast<Real>(w * (std::exp(-loss_of(z, static_cast<std::int32_t>(i))) -
                                               (i == target ? 1 : 0)));
            }
        }
    return values(loss, dz);
}

/// The mean over all words as a function of z, for finite differences: `[1, 1]`.
Tensor mean_loss(const Tensor& z, const Ids& targets) {
    double sum = 0, words = 0;
    for (const std::int32_t target : targets.values())
        if (target != 0) sum += loss_of(z, target), words += 1;
    return Tensor({1, 1}, {static_cast<Real>(sum / words)});
}

void add(Cases& cases, const char* criterion, const Tensor& z, const Ids& targets) {
    const Index n_ranks = targets.dim(0);
    std::vector<double> words(static_cast<std::size_t>(n_ranks));
    double all = 0, with_words = 0;
    for (Index r = 0; r < n_ranks; ++r) {
        for (Index t = 0; t < targets.dim(1); ++t)
            words[static_cast<std::size_t>(r)] += targets(r, t) != 0;
        all += words[static_cast<std::size_t>(r)];
        with_words += words[static_cast<std::size_t>(r)] > 0;
    }
    const auto by = [&](const std::function<double(double)>& weight) {
        return weighed(z, targets,
                       [&](Index r) { return weight(words[static_cast<std::size_t>(r)]); });
    };
    const Values right = by([&](double) { return 1 / all; });
    require_close(as<Tensor>(right[1]).rows(0, 1).reshape(z.shape()),
                  differences([&] { return mean_loss(z, targets); }, z, Tensor::full({1, 1}, 1)),
                  "step: dz");
    cases.add(
        {.criterion = criterion,
         .call = "step",
         .arguments = values(z, targets),
         .results = right,
         .about = fmt::format("{} ranks with {} words", n_ranks, fmt::join(words, ", ")),
         .names = {"z", "the targets of all ranks", "the ranks' losses", "the ranks' dz"},
         .constants = {{"the number of ranks", static_cast<double>(n_ranks)},
                       {"the number of words", all}},
         .mistakes = {
             {"this is the mean of the ranks' means: a word counts more on a rank that has few",
              by([&](double of_rank) { return 1 / of_rank / static_cast<double>(n_ranks); })},
             {"this is the mean of the means of those ranks that have words",
              by([&](double of_rank) { return 1 / of_rank / with_words; })},
             {"this is the sum of the ranks' means",
              by([&](double of_rank) { return 1 / of_rank; })},
             {"this is divided by the number of words once for each rank",
              by([&](double) { return 1 / all / static_cast<double>(n_ranks); })},
             {"this is divided by the number of targets, pads included",
              by([&](double) { return 1 / static_cast<double>(targets.size()); })},
             {"the sum is not divided", by([](double) { return 1.0; })}}});
}

/// Random targets: rank r has `words[r]` words, then pads.
Ids drawn(Cases& cases, std::initializer_list<Index> words, Index V) {
    const Index width = std::max(words);
    Ids ids = cases.ids({static_cast<Index>(words.size()), width}, static_cast<Index>(V - 1));
    Index r = 0;
    for (const Index count : words) {
        for (Index t = 0; t < width; ++t) ids(r, t) = t < count ? ids(r, t) + 1 : 0;
        ++r;
    }
    return ids;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const char *const unlike = "ranks with unlike many words", *const none = "a rank without words";
    const Real l = std::log(Real(2));
    add(cases, unlike, Tensor({3}, {0, l, 0}), Ids({2, 3}, {1, 2, 1, 2, 0, 0}));
    add(cases, unlike, cases.normal({6}), drawn(cases, {7, 1, 3}, 6));
    add(cases, unlike, cases.uniform({4}, -300, 300), drawn(cases, {2, 9, 5, 5}, 4));
    add(cases, none, cases.normal({5}), drawn(cases, {0, 4}, 5));
    add(cases, none, cases.normal({7}), drawn(cases, {3, 8, 0}, 7));
    const char *const means = "your test notices means of means",
                      *const others = "your test notices other faults";
    for (const char* criterion : {means, others}) {
        cases.add_test(criterion, "own", "your own step");
        cases.add_test(criterion, "right", "a correct function that is not yours");
    }
    for (const char* what :
         {"the mean of the ranks' means", "the mean of the means of those ranks that have words",
          "the right loss, but the gradient of a mean of means",
          "the right gradient, but a mean of means for the loss"})
        cases.add_test(means, what, fmt::format("this function: {}", what));
    for (const char* what :
         {"divided by the number of targets, pads included", "the sum over all words, not divided",
          "the mean of each rank's own words",
          "right on rank 0, on all others the mean of their own words",
          "right unless a rank has no words, and NaN then"})
        cases.add_test(others, what, fmt::format("this function: {}", what));
}
