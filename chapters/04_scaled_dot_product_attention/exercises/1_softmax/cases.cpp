#include "judge/answer/cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chapters/04_scaled_dot_product_attention/softmax.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// `e^z` divided by `divisor(z, r, j)`, with z read as `[rows, n]`.
template <class Divisor>
Tensor divided(const Tensor& z, Divisor divisor) {
    Tensor w(z.shape());
    const Tensor e(z.reshape({rows(z.shape()), z.dim(-1)}).clone());
    Tensor y = w.reshape(e.shape());
    for (Index r = 0; r < e.dim(0); ++r)
        for (Index j = 0; j < e.dim(1); ++j) y(r, j) = std::exp(e(r, j)) / divisor(e, r, j);
    return w;
}

Real sum_of_row(const Tensor& z, Index r, Index) {
    Real sum = 0;
    for (Index j = 0; j < z.dim(1); ++j) sum += std::exp(z(r, j));
    return sum;
}

Real sum_of_column(const Tensor& z, Index, Index j) {
    Real sum = 0;
    for (Index r = 0; r < z.dim(0); ++r) sum += std::exp(z(r, j));
    return sum;
}

Real sum_of_all(const Tensor& z, Index, Index) {
    Real sum = 0;
    for (Index r = 0; r < z.dim(0); ++r) sum += sum_of_row(z, r, 0);
    return sum;
}

/// `e^(z - max)`, computed from the weights.
Tensor undivided(const Tensor& w) {
    Tensor e = w.clone();
    Tensor y = e.reshape({rows(w.shape()), w.dim(-1)});
    for (Index r = 0; r < y.dim(0); ++r) {
        Real largest = 0;
        for (Index j = 0; j < y.dim(1); ++j) largest = std::max(largest, y(r, j));
        for (Index j = 0; j < y.dim(1); ++j) y(r, j) /= largest;
    }
    return e;
}

/// Scores minus the largest of their row, times a factor.
Tensor distances(const Tensor& z, Real factor) {
    Tensor s = z.clone();
    Tensor y = s.reshape({rows(z.shape()), z.dim(-1)});
    for (Index r = 0; r < y.dim(0); ++r) {
        Real largest = y(r, 0);
        for (Index j = 0; j < y.dim(1); ++j) largest = std::max(largest, y(r, j));
        for (Index j = 0; j < y.dim(1); ++j) y(r, j) = (y(r, j) - largest) * factor;
    }
    return s;
}

void add(Cases& cases, const char* criterion, const Tensor& z, Real temperature,
         const char* about = "random") {
    const Tensor w = softmax(distances(z, 1 / temperature));
    const auto nothing = [](const Tensor&, Index, Index) { return Real(1); };
    Tensor scaled = z.clone();
    scaled *= 1 / temperature;
    if (criterion == std::string("small scores"))
        require_close(w, divided(scaled, sum_of_row), "softmax", 1e-12);
    cases.add({.criterion = criterion,
               .call = "softmax",
               .arguments = values(z, temperature),
               .results = values(w),
               .about = fmt::format("z {}, {}, temperature {:.3g}", z.shape(), about, temperature),
               .names = {"z", "temperature", "w"},
               .mistakes = {{"the temperature is missing", values(softmax(z))},
                            {"a low temperature makes scores larger, since it divides them",
                             values(softmax(distances(z, temperature)))},
                            {"the exponentials are not divided by their sum", values(undivided(w))},
                            {"the exponentials are not divided by their sum",
                             values(divided(scaled, nothing))},
                            {"this is the softmax of columns, but the sum runs over a row",
                             values(divided(scaled, sum_of_column))},
                            {"all numbers together sum to 1, but each row should do so",
                             values(divided(scaled, sum_of_all))}}});
}

/// Rows that lie far from each other.
Tensor far_apart(Cases& cases, const Shape& shape, Real distance) {
    Tensor z = cases.normal(shape);
    Tensor by_row = z.reshape({rows(shape), shape[-1]});
    for (Index r = 0; r < by_row.dim(0); ++r)
        for (Index j = 0; j < by_row.dim(1); ++j)
            by_row(r, j) += static_cast<Real>(r % 3 - 1) * distance;
    return z;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const Tensor by_hand({1, 3}, {0, std::log(Real(2)), std::log(Real(5))});
    const auto drawn = [&] { return cases.uniform({1}, 0.3, 3)(0); };
    add(cases, "small scores", by_hand, Real(0.5), "by hand");
    for (const Index n : {1, 2, 5, 17}) add(cases, "small scores", cases.normal({3, n}), drawn());
    add(cases, "batches and heads", cases.normal({2, 3, 4, 5}), drawn());
    add(cases, "batches and heads", cases.uniform({3, 1, 7}, -6, 6), drawn());
    add(cases, "large scores", far_apart(cases, {1, 4}, 3000), drawn(), "near -3000");
    add(cases, "large scores", far_apart(cases, {3, 4}, 3000), drawn(),
        "rows near -3000, 0 and 3000");
    add(cases, "large scores", cases.uniform({2, 6}, -1e4, 1e4), drawn(), "scores of up to 10000");
    add(cases, "large scores", cases.uniform({2, 3, 4}, 3000, 3020), drawn(), "scores above 3000");
    add(cases, "large scores", cases.uniform({2, 5}, -1e4, 1e4), Real(1e-306), "very cold");
    for (const Real fill : {Real(-1e9), -std::numeric_limits<Real>::infinity()}) {
        Tensor z = cases.normal({3, 5});
        z(0, 4) = z(1, 0) = z(1, 1) = z(2, 0) = z(2, 1) = z(2, 3) = z(2, 4) = fill;
        add(cases, "hidden scores", z, drawn(), "some of them hidden");
    }
}
