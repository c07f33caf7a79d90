#include "judge/answer/cases.hpp"

#include <cmath>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// A tensor read as [before, n, after], where n is the size of `axis`.
Tensor along(const Tensor& x, int axis) {
    Index before = 1;
    for (int a = 0; a < axis; ++a) before *= x.dim(a);
    return x.reshape({before, x.dim(axis), x.size() / (before * x.dim(axis))});
}

Tensor softmax_along(const Tensor& z, int axis) {
    Tensor w = z.clone();
    Tensor y = along(w, axis);
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index c = 0; c < y.dim(2); ++c) {
            Real sum = 0;
            for (Index j = 0; j < y.dim(1); ++j) sum += y(b, j, c) = std::exp(y(b, j, c));
            for (Index j = 0; j < y.dim(1); ++j) y(b, j, c) /= sum;
        }
    return w;
}

/// `rule(w, dw, sum of w dw, sum of dw)`, where the sums run along `axis`.
template <class Rule>
Tensor by(Rule rule, const Tensor& dw_, const Tensor& w_, int axis) {
    Tensor dz(w_.shape());
    Tensor y = along(dz, axis);
    const Tensor w = along(w_, axis), dw = along(dw_, axis);
    for (Index b = 0; b < y.dim(0); ++b)
        for (Index c = 0; c < y.dim(2); ++c) {
            Real costs = 0, total = 0;
            for (Index j = 0; j < y.dim(1); ++j) {
                costs += w(b, j, c) * dw(b, j, c);
                total += dw(b, j, c);
            }
            for (Index j = 0; j < y.dim(1); ++j)
                y(b, j, c) = rule(w(b, j, c), dw(b, j, c), costs, total);
        }
    return dz;
}

void add(Cases& cases, const char* criterion, const Tensor& z, const Tensor& dw, int axis,
         const std::string& about = {}) {
    const auto right = [](Real w, Real d, Real costs, Real) { return w * (d - costs); };
    const Tensor w = softmax_along(z, axis), dz = by(right, dw, w, axis);
    require_close(dz, differences([&] { return softmax_along(z, axis); }, z, dw),
                  "softmax_backward");
    if (axis == z.rank() - 1) require_close(dz, softmax_backward(dw, w), "the last axis", 1e-12);
    const auto as = [&](auto rule) { return values(by(rule, dw, w, axis)); };
    std::vector<Mistake> mistakes{
        {"w (1 - w) dw is the diagonal of the Jacobian alone, but a score moves all its weights",
         as([](Real w_j, Real d, Real, Real) { return w_j * (1 - w_j) * d; })},
        {"w dw is the way through the numerator alone, but each score is also in the denominator",
         as([](Real w_j, Real d, Real, Real) { return w_j * d; })},
        {"the factor w is missing", as([](Real, Real d, Real costs, Real) { return d - costs; })},
        {"the sum is that of dw, not of dw times w",
         as([](Real w_j, Real d, Real, Real total) { return w_j * (d - total); })}};
    for (int other = 0; other < w.rank(); ++other)
        if (other != axis)  // if it has size 1, this is w (1 - w) dw, and further cases decide
            mistakes.push_back({fmt::format("the sum runs along axis {}; here it belongs to a "
                                            "softmax along axis {}",
                                            other, axis),
                                values(by(right, dw, w, other))});
    cases.add(
        {.criterion = criterion,
         .call = "softmax_backward",
         .arguments = values(dw, w, axis),
         .results = values(dz),
         .about = about.empty() ? fmt::format("w {}, axis {}, dw random", w.shape(), axis) : about,
         .names = {"dw", "w", "axis", "dz"},
         .mistakes = mistakes});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "rows of two", Tensor({1, 2}, {0, std::log(Real(2))}), Tensor({1, 2}, {3, 0}), 1,
        "the first example of the statement, w = (1/3, 2/3), dw = (3, 0), axis 1");
    add(cases, "rows of two", cases.normal({3, 2}), cases.normal({3, 2}), 1);
    for (const Index n : {1, 3, 5, 17})
        add(cases, "rows of every length", cases.normal({3, n}), cases.normal({3, n}), 1);
    add(cases, "rows of every length", cases.uniform({2, 1, 7}, -20, 20), cases.normal({2, 1, 7}),
        2);
    add(cases, "every axis", Tensor({2, 2}, {0, 0, std::log(Real(2)), 0}),
        Tensor({2, 2}, {3, 1, 0, 1}), 0, "the second example of the statement, axis 0");
    for (const int axis : {0, 1, 2, 3})
        add(cases, "every axis", cases.normal({3, 2, 4, 5}), cases.normal({3, 2, 4, 5}), axis);
}
