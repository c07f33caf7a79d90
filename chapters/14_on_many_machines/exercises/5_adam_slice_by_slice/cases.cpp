#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>

#include "chapters/09_training/optimizer/optimizer.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// Which mistakes to make.
struct Fault {
    bool own_norm = false;    ///< a rank clips by the norm of its slice
    bool own_part = false;    ///< a rank clips its part before the sum
    bool squares = false;     ///< squares of the parts are added for the norm
    bool mean = false;        ///< the ranks' parts are averaged
    bool sum = true;          ///< the ranks' parts are added, as they should be
    bool forgets = false;     ///< every step is the first
    bool every_step = false;  ///< clips even if the norm is smaller
};

/// m, v and the weights of all ranks after all steps. The weights alone would not do, because after
/// a first step of Adam they do not show how large the gradient was.
/// @param parts  [steps, ranks, N]
Values after(const Tensor& w, const Tensor& parts, Real learning_rate, Real largest,
             const Fault& fault = {}) {
    const Index n = parts.dim(1), size = w.size(), count = size / n;
    Tensor weights({n, size}), m = Tensor::zeros({n, count}), v = Tensor::zeros({n, count});
    Tensor now = w.clone();
    const auto clip = [&](Tensor x, double norm) {
        const double most = static_cast<double>(largest);
        if (most > 0 && (norm > most || fault.every_step)) x *= static_cast<Real>(most / norm);
    };
    for (Index step = 0; step < parts.dim(0); ++step) {
        Tensor gradient = Tensor::zeros({n, count});
        double squares = 0;
        for (Index r = 0; r < n; ++r) {
            const Index row = step * n + r;
            const Tensor all = parts.reshape({parts.dim(0) * n, size});
            const Tensor part = all.rows(row, row + 1).reshape({n, count}).clone();
            squares += dot(part, part);
            if (fault.own_part) clip(part, std::sqrt(dot(part, part)));
            for (Index slice = 0; slice < n; ++slice)
                for (Index i = 0; i < count; ++i)
                    if (fault.sum || slice == r)
                        gradient(slice, i) += part(slice, i) / (fault.mean ? Real(n) : 1);
        }
        const double norm = std::sqrt(fault.squares ? squares : dot(gradient, gradient));
        for (Index r = 0; r < n; ++r) {
            const Tensor own = gradient.rows(r, r + 1);
            if (!fault.own_part) clip(own, fault.own_norm ? std::sqrt(dot(own, own)) : norm);
            Parameter slice(now.rows(r * count, (r + 1) * count));
            slice.grad() += own.reshape({count});
            Tensor mean = m.rows(r, r + 1).reshape({count}),
                   square = v.rows(r, r + 1).reshape({count});
            adam_step(slice, mean, square,
                      {{}, learning_rate, fault.forgets ? Index{1} : step + 1});
        }
    }
    for (Index r = 0; r < n; ++r)
        std::copy(now.values().begin(), now.values().end(),
                  weights.values().begin() + static_cast<std::ptrdiff_t>(r * size));
    return values(m, v, weights);
}

/// Every rank's results if slices are not gathered: its own slice is new, the others are old.
Values not_gathered(const Tensor& w, const Values& right) {
    Tensor weights = as<Tensor>(right[2]).clone();
    const Index n = weights.dim(0), count = w.size() / n;
    for (Index r = 0; r < n; ++r)
        for (Index i = 0; i < w.size(); ++i)
            if (i / count != r) weights(r, i) = w(i);
    Values wrong = right;
    wrong[2] = value(weights);
    return wrong;
}

void add(Cases& cases, const char* criterion, const Tensor& w, const Tensor& parts,
         Real learning_rate, Real largest) {
    const Values right = after(w, parts, learning_rate, largest);
    const auto with = [&](const Fault& fault) {
        return after(w, parts, learning_rate, largest, fault);
    };
    Case c{
        .criterion = criterion,
        .call = "update",
        .arguments = values(w, parts, learning_rate, largest),
        .results = right,
        .about = fmt::format("{} ranks, {} weights, {} steps, largest {:.3g}", parts.dim(1),
                             w.size(), parts.dim(0), largest),
        .names = {"w", "parts", "learning rate", "largest", "m of all ranks", "v of all ranks",
                  "w of all ranks"},
        .constants = {{"the number of ranks", static_cast<double>(parts.dim(1))}},
        .mistakes = {
            {"the other ranks' slices of w are those from before the step", not_gathered(w, right)},
            {"a rank takes its own part for the gradient", with({.sum = false})},
            {"the gradient is the sum of the parts, not their mean", with({.mean = true})}}};
    if (largest > 0) {
        c.mistakes.push_back({"the norm is that of the rank's slice, not of the whole gradient",
                              with({.own_norm = true})});
        c.mistakes.push_back({"squares of the parts are added, but the norm is that of their sum",
                              with({.squares = true})});
        c.mistakes.push_back(
            {"the parts are clipped before they are added", with({.own_part = true})});
        c.mistakes.push_back({"a gradient whose norm is smaller than `largest` is scaled up",
                              with({.every_step = true})});
        c.mistakes.push_back({"nothing is clipped", after(w, parts, learning_rate, 0)});
    }
    if (parts.dim(0) > 1)
        c.mistakes.push_back(
            {"steps are counted from 1 over all updates, but here each is taken for the first",
             with({.forgets = true})});
    cases.add(c);
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const char *const one = "one step", *const clipped = "clipping",
                      *const several = "several steps";
    const auto rate = [&] { return static_cast<Real>(cases.between(1, 9)) / 100; };
    for (const Index n : {2, 3, 4, 1}) {
        const Index size = n * cases.between(2, 6);
        add(cases, one, cases.normal({size}), cases.normal({1, n, size}), rate(), 0);
    }
    add(cases, clipped, Tensor({2}, {1, 1}), Tensor({1, 2, 2}, {3, -1, 0, 5}), Real(0.1), 1);
    for (const Index n : {2, 3, 4}) {
        const Index size = n * cases.between(2, 6);
        for (const double largest : {0.3, 1000.0})
            add(cases, clipped, cases.normal({size}), cases.normal({1, n, size}), rate(),
                static_cast<Real>(largest));
    }
    add(cases, several, cases.normal({6}), cases.normal({3, 2, 6}), rate(), 0);
    add(cases, several, cases.normal({12}), cases.normal({5, 3, 12}), rate(), 0);
    for (const Index n : {2, 4}) {
        const Index size = 1200 * n;
        Case c{.criterion = "what is sent",
               .call = "sent",
               .arguments =
                   values(cases.normal({size}), cases.normal({1, n, size}), Real(0.01), Real(1)),
               .results = values(Index{2}),
               .about = fmt::format("{} ranks, {} weights", n, size),
               .names = {"w", "parts", "learning rate", "largest",
                         "what a rank sends, in units of the elements that it does not own,"}};
        c.mistakes = {{"every rank gets the whole gradient, but needs only its own slice of it: "
                       "reduce_scatter",
                       values(Index{3})},
                      {"the new weights are not handed around, or the gradients are not added",
                       values(Index{1})}};
        cases.add(c);
    }
}
