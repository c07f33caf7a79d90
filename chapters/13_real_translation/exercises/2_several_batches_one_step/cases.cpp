#include "judge/answer/cases.hpp"

#include <fmt/format.h>

#include <functional>

using namespace abh;
using namespace abh::judge;

namespace {

struct Batches {
    Tensor losses;  ///< [K]
    Ids words;      ///< [K]
    Tensor a, b;    ///< [K, ...]
    Tensor left_a, left_b;
};

/// Losses and gradients, with the batches weighted by `weight`, and what was there by `left`.
Values weighed(const Batches& x, const std::function<double(Index)>& weight, double left = 0) {
    Tensor loss = Tensor::zeros({1}), a = x.left_a.clone(), b = x.left_b.clone();
    a *= static_cast<Real>(left);
    b *= static_cast<Real>(left);
    for (Index k = 0; k < x.words.size(); ++k) {
        const Real w = static_cast<Real>(weight(k));
        loss(0) += w * x.losses(k);
        for (const auto& [sum, all] : {std::pair{&a, &x.a}, {&b, &x.b}}) {
            Tensor part = all->rows(k, k + 1).reshape(sum->shape()).clone();
            part *= w;
            *sum += part;
        }
    }
    return values(loss, a, b);
}

/// The results of functions that forget the last step's gradients, or lose this step's.
std::vector<Mistake> of_gradients(const Batches& x, const Value& loss) {
    const Index n = x.words.size();
    double all = 0;
    for (const std::int32_t w : x.words.values()) all += w;
    const auto from = [&](Index k) {  // the share of batch k and the batches after it
        double sum = 0;
        for (Index j = k; j < n; ++j) sum += x.words(j);
        return sum / all;
    };
    const auto share = [&](Index k) { return x.words(k) / all; };
    const auto last = [&](double weight) {
        return [=](Index k) { return k == n - 1 ? weight : 0.0; };
    };
    const auto dirty =
        "the gradient still has what the last step left: set it to zero before the first batch";
    const auto last_alone =
        "only the last batch is left: sum all of them, and put the sum into the gradients at the "
        "end";
    std::vector<Mistake> mistakes{
        {dirty, weighed(x, share, 1)},
        {"all is 0: a copy of a gradient is a handle that changes with it (clone it), or the sum "
         "was not put into the gradients",
         weighed(x, last(0))}};
    if (n > 1) {
        mistakes.insert(
            mistakes.end(),
            {{dirty, weighed(x, share, share(0))},
             {last_alone, weighed(x, last(1))},
             {last_alone, weighed(x, last(share(n - 1)))},
             {"a batch's gradient changes with those after it: a copy is a handle; clone what you "
              "want to keep",
              weighed(x, [](Index) { return 1.0; })},
             {"count each batch once: the gradient after a batch holds those of the batches before "
              "it",
              weighed(x, from)}});
        if (dot(x.left_a, x.left_a) > 0)
            mistakes.push_back(
                {"the gradient after a batch holds those of the batches before it, "
                 "and what the last step left",
                 weighed(x, from, 1)});
    }
    for (Mistake& mistake : mistakes) mistake.results[0] = loss;
    return mistakes;
}

void add(Cases& cases, const char* criterion, const Batches& x) {
    const Index n = x.words.size();
    double all = 0;
    for (const std::int32_t w : x.words.values()) all += w;
    Case c{.criterion = criterion,
           .call = "accumulate",
           .arguments = values(x.losses, x.words, x.a, x.b, x.left_a, x.left_b),
           .results = weighed(x, [&](Index k) { return x.words(k) / all; }),
           .about = fmt::format("words of the batches: {}", fmt::join(x.words.values(), ", ")),
           .names = {"the batches' losses", "their words", "the batches' gradients of p",
                     "the batches' gradients of q", "what was in the gradient of p",
                     "what was in the gradient of q", "the loss", "the gradient of p",
                     "the gradient of q"},
           .constants = {{"the number of batches", static_cast<double>(n)},
                         {"the number of words", all}}};
    c.mistakes = of_gradients(x, c.results[0]);
    if (n > 1) {
        c.mistakes.push_back(
            {"this is the mean of means, in which a word counts more if its batch is smaller",
             weighed(x, [&](Index) { return 1.0 / static_cast<double>(n); })});
        c.mistakes.push_back({"this is the sum of the batches' means: their weights must sum to 1",
                              weighed(x, [](Index) { return 1.0; })});
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto drawn = [&](std::initializer_list<std::int32_t> words, bool left) {
        const Index n = static_cast<Index>(words.size());
        Batches x{cases.normal({n}),       Ids({n}),
                  cases.normal({n, 3, 2}), cases.normal({n, 5}),
                  Tensor::zeros({3, 2}),   Tensor::zeros({5})};
        std::copy(words.begin(), words.end(), x.words.data());
        if (left) {
            x.left_a = cases.normal({3, 2});
            x.left_b = cases.normal({5});
        }
        return x;
    };
    const Batches of_the_statement{Tensor({2}, {1, 3}),          Ids({2}, {2, 8}),
                                   Tensor({2, 2}, {1, 0, 0, 1}), Tensor({2, 1}, {1, 1}),
                                   Tensor::zeros({2}),           Tensor::zeros({1})};
    add(cases, "batches of unlike size", of_the_statement);
    add(cases, "batches of unlike size", drawn({7, 1, 12, 30}, false));
    add(cases, "batches of unlike size", drawn({100, 3, 55}, false));
    add(cases, "one batch", drawn({17}, false));
    add(cases, "one batch", drawn({1}, false));
    add(cases, "what the last step left", drawn({5, 40}, true));
    add(cases, "what the last step left", drawn({1, 2, 3, 4, 5}, true));
}
