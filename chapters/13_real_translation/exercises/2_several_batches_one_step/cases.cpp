#include "judge/cases.hpp"

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

/// Losses and gradients, the batches weighed by `weight`.
std::vector<Value> weighed(const Batches& x, const std::function<double(Index)>& weight) {
    Tensor loss = Tensor::zeros({1});
    Tensor a = Tensor::zeros(x.left_a.shape()), b = Tensor::zeros(x.left_b.shape());
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

void add(Cases& cases, const char* criterion, const Batches& x) {
    const Index n = x.words.size();
    double all = 0;
    for (const std::int32_t w : x.words.values()) all += w;
    const auto count = [&](Index k) { return static_cast<double>(x.words(k)); };
    Case c{.criterion = criterion,
           .call = "accumulate",
           .arguments = values(x.losses, x.words, x.a, x.b, x.left_a, x.left_b),
           .results = weighed(x, [&](Index k) { return count(k) / all; }),
           .about = fmt::format("{} batches, {} words", n, all),
           .names = {"the batches' losses", "their words", "the batches' gradients of p",
                     "the batches' gradients of q", "what was in the gradient of p",
                     "what was in the gradient of q", "the loss", "the gradient of p",
                     "the gradient of q"},
           .constants = {{"the number of batches", static_cast<double>(n)},
                         {"the number of words", all}}};
    if (n > 1) {
        c.mistakes = {{"this is the mean of means: a word counts by its batch's size",
                       weighed(x, [&](Index) { return 1.0 / static_cast<double>(n); })},
                      {"this is the sum of the batches' means: their weights must sum to 1",
                       weighed(x, [](Index) { return 1.0; })}};
        std::vector<Value> again = c.results;  // each batch's gradient holds those before it
        const auto later = [&](Index k) {
            double sum = 0;
            for (Index j = k; j < n; ++j) sum += count(j);
            return sum / all;
        };
        again = weighed(x, later);
        again[0] = c.results[0];
        c.mistakes.push_back(
            {"each batch once: the gradient after a batch holds those of the batches before it",
             again});
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
    add(cases, "batches of unlike size", drawn({100, 3, 55}, true));
    add(cases, "one batch", drawn({17}, true));
    add(cases, "one batch", drawn({1}, false));
    add(cases, "what the last step left", drawn({5, 40}, true));
    add(cases, "what the last step left", drawn({1, 2, 3, 4, 5}, true));
}
