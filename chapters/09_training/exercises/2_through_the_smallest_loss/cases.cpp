#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"
#include "chapters/09_training/loss/loss.hpp"
#include "lib/eigen.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

Tensor log_sums(const Tensor& z) {
    Tensor sums({rows(z.shape())});
    for (Index r = 0; r < sums.size(); ++r) {
        const auto row = matrix(z).row(r);
        sums(r) = row.maxCoeff() + std::log((row.array() - row.maxCoeff()).exp().sum());
    }
    return sums;
}

double loss_of(const Tensor& z, const Ids& targets, const CrossEntropyOptions& o, Real lambda,
               bool pads = false, bool squared = true) {
    const Tensor l = log_sums(z);
    double sum = 0, counted = 0;
    for (Index r = 0; r < targets.size(); ++r) {
        const bool counts = targets.values()[static_cast<std::size_t>(r)] != o.ignore;
        counted += counts;
        if (counts || pads) sum += squared ? l(r) * l(r) : l(r);
    }
    return cross_entropy(z, targets, o) + lambda * sum / counted;
}

/// What the new term adds to the gradient; `with_p` false leaves out the factor p_j.
Tensor term(const Tensor& z, const Ids& targets, const CrossEntropyOptions& o, Real lambda,
            bool pads = false, bool with_p = true) {
    const Tensor l = log_sums(z), p = softmax(z);
    Tensor dz = Tensor::zeros(z.shape());
    Real counted = 0;
    for (const std::int32_t target : targets.values()) counted += target != o.ignore;
    for (Index r = 0; r < targets.size(); ++r)
        for (Index j = 0; j < z.dim(2); ++j)
            if (pads || targets.values()[static_cast<std::size_t>(r)] != o.ignore)
                matrix(dz)(r, j) = 2 * lambda * l(r) * (with_p ? matrix(p)(r, j) : 1) / counted;
    return dz;
}

Tensor times(const Tensor& x, Real factor) {
    Tensor y = x.clone();
    y *= factor;
    return y;
}

void add(Cases& cases, const char* criterion, const Tensor& z, const Ids& targets,
         const CrossEntropyOptions& o, Real lambda, bool gradient) {
    Case c{
        .criterion = criterion,
        .call = "z_cross_entropy",
        .arguments = values(z, targets, o.ignore, o.smoothing, lambda),
        .results = values(loss_of(z, targets, o, lambda)),
        .about = fmt::format("logits {}, smoothing {}, lambda {}", z.shape(), o.smoothing, lambda),
        .names = {"logits", "targets", "ignore", "smoothing", "lambda", "the loss"}};
    c.mistakes = {{"the new term is missing", values(cross_entropy(z, targets, o))},
                  {"rows of pads have a z-loss", values(loss_of(z, targets, o, lambda, true))},
                  {"the new term is the square of l, not l itself",
                   values(loss_of(z, targets, o, lambda, false, false))}};
    if (gradient) {
        CrossEntropyCache cache;
        cross_entropy(z, targets, o, &cache);
        const Tensor old = cross_entropy_backward(cache), added = term(z, targets, o, lambda),
                     dz = old + added;
        const auto loss = [&] {
            return Tensor({1}, {static_cast<Real>(loss_of(z, targets, o, lambda))});
        };
        require_close(dz, differences(loss, z, Tensor({1}, {1})), "dlogits", 1e-5);
        c.call = "z_cross_entropy_backward";
        c.results = values(dz);
        c.names.back() = "the gradient";
        c.mistakes = {
            {"the new term's share is missing", values(old)},
            {"the new share lacks a factor 2, which comes from squaring l",
             values(old + times(added, Real(0.5)))},
            {"the new share lacks the factor p_j, the derivative of l with respect to z_j",
             values(old + term(z, targets, o, lambda, false, false))},
            {"rows of pads have a share of the z-loss",
             values(old + term(z, targets, o, lambda, true))},
            {"the new share is not divided by the number of rows that count",
             values(old + times(added, static_cast<Real>(cache.counted)))},
            {"the old share is missing", values(added)}};
    }
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const bool gradient : {false, true}) {
        const char* const criterion = gradient ? "the gradient" : "the loss";
        add(cases, criterion, Tensor({1, 1, 2}, {0, 0}), Ids({1, 1}, {0}), {.ignore = 1}, 1,
            gradient);
        add(cases, criterion, cases.normal({2, 3, 5}), cases.ids({2, 3}, 5), {.ignore = -1},
            Real(0.1), gradient);
        add(cases, criterion, cases.normal({1, 4, 3}), cases.ids({1, 4}, 3),
            {.ignore = -1, .smoothing = Real(0.2)}, Real(0.7), gradient);
        add(cases, "pads", cases.normal({2, 3, 4}), Ids({2, 3}, {1, 3, 2, 3, 0, 0}),
            {.ignore = 0, .smoothing = Real(0.1)}, Real(0.1), gradient);
        Tensor large = cases.uniform({1, 3, 4}, -3, 3);
        for (Index r = 0; r < 3; ++r)
            for (Index n = 0; n < 4; ++n) large(0, r, n) += static_cast<Real>(900 * (r - 1));
        add(cases, "large logits", large, cases.ids({1, 3}, 4), {.ignore = -1}, Real(0.01),
            gradient);
    }
}
