#include "judge/answer/cases.hpp"

#include <cmath>

using namespace abh;
using namespace abh::judge;

namespace {

Real logistic(Real a) {
    return 1 / (1 + std::exp(-a));
}

Tensor swish(const Tensor& x, const Tensor& beta) {
    Tensor y(x.shape());
    for (std::size_t i = 0; i < x.values().size(); ++i)
        y.values()[i] = x.values()[i] * logistic(beta(0) * x.values()[i]);
    return y;
}

/// dx and dbeta; each flag that is false leaves out a part.
struct Parts {
    bool curve = true, inner = true, square = true, dy = true;
};
std::pair<Tensor, Tensor> gradients(const Tensor& dy, const Tensor& x, Real beta,
                                    const Parts& has = {}) {
    Tensor dx(x.shape()), dbeta = Tensor::zeros({1});
    for (std::size_t i = 0; i < x.values().size(); ++i) {
        const Real v = x.values()[i], s = logistic(beta * v), slope = s * (1 - s);
        const Real curve = has.curve ? (has.inner ? beta : 1) * v * slope : 0;
        dx.values()[i] = dy.values()[i] * (s + curve);
        dbeta(0) += (has.dy ? dy.values()[i] : 1) * (has.square ? v * v : v) * slope;
    }
    return {dx, dbeta};
}

/// What each element adds to dbeta.
Tensor terms_of_dbeta(const Tensor& dy, const Tensor& x, Real beta) {
    Tensor terms(x.shape());
    for (std::size_t i = 0; i < x.values().size(); ++i) {
        const Real v = x.values()[i], s = logistic(beta * v);
        terms.values()[i] = dy.values()[i] * v * v * s * (1 - s);
    }
    return terms;
}

void add(Cases& cases, const Tensor& x, const Tensor& dy, Real beta, const std::string& about,
         const std::vector<std::string>& criteria) {
    const auto [dx, dbeta] = gradients(dy, x, beta);
    const Tensor b = Tensor::full({1}, beta);
    if (about != "large numbers") {  // too steep for differences
        require_close(dx, differences([&] { return swish(x, b); }, x, dy), "swish_backward: dx");
        require_close(dbeta, differences([&] { return swish(x, b); }, b, dy),
                      "swish_backward: dbeta");
    }
    const Tensor terms = terms_of_dbeta(dy, x, beta);
    Tensor mean = dbeta.clone();
    mean *= 1 / static_cast<Real>(x.size());
    const char* const sum = "all elements share beta: dbeta is a sum over them";
    for (const std::string& criterion : criteria)
        cases.add(
            {.criterion = criterion,
             .call = "swish_backward",
             .arguments = values(dy, x, beta),
             .results = values(dx, dbeta),
             .about = about,
             .names = {"dy", "x", "beta", "dx", "dbeta"},
             .constants = {{"beta", static_cast<double>(beta)}},
             .mistakes = {
                 {"x is in the product twice, because the logistic function depends on it, too",
                  values(gradients(dy, x, beta, {.curve = false}).first, dbeta)},
                 {"the inner derivative of s(beta x) with respect to x is missing",
                  values(gradients(dy, x, beta, {.inner = false}).first, dbeta)},
                 {"the derivative of beta x with respect to beta is x, and x is a factor besides",
                  values(dx, gradients(dy, x, beta, {.square = false}).second)},
                 {"in dbeta, dy is missing",
                  values(dx, gradients(dy, x, beta, {.dy = false}).second)},
                 {sum, values(dx, terms)},
                 {sum, values(dx, Tensor({1}, {terms.values().front()}))},
                 {sum, values(dx, Tensor({1}, {terms.values().back()}))},
                 {"all elements share beta: dbeta is the sum of what they add, not the mean",
                  values(dx, mean)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, Tensor({2}, {1, -1}), Tensor({2}, {3, 4}), 1, "the example of the statement",
        {"beta 1"});
    add(cases, cases.normal({2, 5}), cases.normal({2, 5}), 1, "x [2, 5], with a random dy",
        {"beta 1"});
    const std::vector<std::string> any = {"any beta"};
    add(cases, cases.normal({3, 1, 4}), cases.normal({3, 1, 4}), Real(0.3), "beta 0.3", any);
    add(cases, cases.normal({7}), cases.normal({7}), Real(2.5), "beta 2.5", any);
    add(cases, cases.normal({2, 2, 3, 2}), cases.normal({2, 2, 3, 2}), Real(-1.5), "beta -1.5",
        any);
    Tensor large = cases.uniform({6}, 900, 1000);
    for (Index i = 0; i < 6; i += 2) large(i) = -large(i);
    add(cases, large, cases.normal({6}), Real(1.2), "large numbers", {"large numbers"});
}
