#include "judge/answer/cases.hpp"

#include <cmath>
#include <vector>

using namespace abh;
using namespace abh::judge;

namespace {

Tensor rms_norm(const Tensor& x, const Tensor& gamma, Real eps, bool outside = false) {
    Tensor y(x.shape());
    for (Index r = 0; r < x.dim(0); ++r) {
        Real square = 0;
        for (Index i = 0; i < x.dim(1); ++i) square += x(r, i) * x(r, i);
        const Real mean = square / static_cast<Real>(x.dim(1));
        const Real rho = outside ? std::sqrt(mean) + eps : std::sqrt(mean + eps);
        for (Index i = 0; i < x.dim(1); ++i) y(r, i) = gamma(i) * x(r, i) / rho;
    }
    return y;
}

/// Which terms dx has.
struct Terms {
    bool gain = true;   ///< dx_hat = gamma dy
    Real root = 1;      ///< the path through the root
    Real mean = 0;      ///< layer norm's path through the mean
    bool sum = false;   ///< a sum over the row where a mean should be
    bool late = false;  ///< gamma multiplies the whole instead of being in dx_hat
};

Tensor dx_with(const Terms& terms, const Tensor& dy, const Tensor& x, const Tensor& gamma,
               Real eps) {
    const Tensor x_hat = rms_norm(x, Tensor::full(gamma.shape(), 1), eps);
    const Real n = static_cast<Real>(x.dim(1));
    Tensor dx(x.shape());
    for (Index r = 0; r < x.dim(0); ++r) {
        const auto dx_hat = [&](Index i) {
            return (terms.gain && !terms.late ? gamma(i) : 1) * dy(r, i);
        };
        Real square = 0, mean = 0, along = 0;
        for (Index i = 0; i < x.dim(1); ++i) {
            square += x(r, i) * x(r, i) / n;
            mean += dx_hat(i) / n;
            along += dx_hat(i) * x_hat(r, i) / (terms.sum ? 1 : n);
        }
        for (Index i = 0; i < x.dim(1); ++i)
            dx(r, i) = (terms.late ? gamma(i) : 1) *
                       (dx_hat(i) - terms.mean * mean - terms.root * x_hat(r, i) * along) /
                       std::sqrt(square + eps);
    }
    return dx;
}

Tensor dgamma_of_rows(const Tensor& dy, const Tensor& x, Real eps, Index first) {
    const Tensor x_hat = rms_norm(x, Tensor::full({x.dim(1)}, 1), eps);
    Tensor dgamma = Tensor::zeros({x.dim(1)});
    for (Index r = first; r < x.dim(0); ++r)
        for (Index i = 0; i < x.dim(1); ++i) dgamma(i) += dy(r, i) * x_hat(r, i);
    return dgamma;
}

void add(Cases& cases, const Tensor& x, const Tensor& gamma, const Tensor& dy, Real eps,
         bool near_zero = false) {
    const std::string about = fmt::format("x {}, epsilon {:.1g}", x.shape(), eps);
    const auto named = [&](const char* criterion) {
        return near_zero ? "rows near zero" : criterion;
    };
    const Tensor y = rms_norm(x, gamma, eps);
    const Tensor dx = dx_with({}, dy, x, gamma, eps), dgamma = dgamma_of_rows(dy, x, eps, 0);
    const auto forward = [&] { return rms_norm(x, gamma, eps); };
    require_close(dx, differences(forward, x, dy), "dx", 1e-5);
    require_close(dgamma, differences(forward, gamma, dy), "dgamma");

    std::vector<Mistake> of_forward{
        {"gamma is missing", values(rms_norm(x, Tensor::full(gamma.shape(), 1), eps))},
        {"epsilon is left out", values(rms_norm(x, gamma, 0))},
        {"epsilon is outside the root", values(rms_norm(x, gamma, eps, true))}};
    cases.add({.criterion = named("forward"),
               .call = "rms_norm",
               .arguments = values(x, gamma, eps),
               .results = values(y),
               .about = about,
               .names = {"x", "gamma", "eps", "y"},
               .mistakes = of_forward});
    const auto wrong = [&](const Terms& terms) {
        return values(dx_with(terms, dy, x, gamma, eps));
    };
    cases.add({.criterion = named("the gradient of x"),
               .call = "dx",
               .arguments = values(dy, x, gamma, eps),
               .results = values(dx),
               .about = about,
               .names = {"dy", "x", "gamma", "eps", "dx"},
               .mistakes = {
                   {"the path through the root is missing; the root depends on every x of the row",
                    wrong({.root = 0})},
                   {"the path through the root has the wrong sign", wrong({.root = -1})},
                   {"gamma is missing; dx_hat is gamma dy", wrong({.gain = false})},
                   {"the mean is of dx_hat x_hat, so gamma belongs inside, at each column",
                    wrong({.late = true})},
                   {"this norm subtracts no mean, so no path leads through it", wrong({.mean = 1})},
                   {"the sum over the row should be a mean", wrong({.sum = true})}}});
    cases.add(
        {.criterion = named("the gradient of gamma"),
         .call = "dgamma",
         .arguments = values(dy, x, gamma, eps),
         .results = values(dgamma),
         .about = about,
         .names = {"dy", "x", "gamma", "eps", "dgamma"},
         .mistakes = {
             {"this is the gradient of the last row alone; all rows share gamma, so it is a sum",
              values(dgamma_of_rows(dy, x, eps, x.dim(0) - 1))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, Tensor({1, 2}, {3, 4}), Tensor({2}, {1, 1}), Tensor({1, 2}, {1, 0}), 0);
    const auto drawn = [&](Index n_rows, Index n, double size, Real eps, bool near_zero) {
        add(cases, cases.uniform({n_rows, n}, -size, size), cases.normal({n}),
            cases.normal({n_rows, n}), eps, near_zero);
    };
    drawn(3, 5, 2, Real(1e-5), false);
    drawn(4, 7, 40, Real(1e-5), false);
    drawn(5, 1, 3, Real(1e-2), false);
    drawn(3, 6, 0.1, Real(1e-2), true);
    add(cases, Tensor::zeros({2, 4}), cases.normal({4}), cases.normal({2, 4}), Real(1e-2), true);
}
