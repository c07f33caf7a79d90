#include "judge/answer/cases.hpp"

#include <cmath>

using namespace abh;
using namespace abh::judge;

namespace {

Tensor normalized(const Tensor& x, Real eps) {
    Tensor y(x.shape());
    const Index n = x.dim(1);
    for (Index r = 0; r < x.dim(0); ++r) {
        Real mean = 0, squares = 0;
        for (Index j = 0; j < n; ++j) mean += x(r, j);
        mean /= static_cast<Real>(n);
        for (Index j = 0; j < n; ++j) squares += (x(r, j) - mean) * (x(r, j) - mean);
        const Real deviation = std::sqrt(squares / static_cast<Real>(n) + eps);
        for (Index j = 0; j < n; ++j) y(r, j) = (x(r, j) - mean) / deviation;
    }
    return y;
}

void add(Cases& cases, const char* criterion, const Tensor& x) {
    cases.add({.criterion = criterion,
               .call = "normalize",
               .arguments = values(x),
               .results = values(normalized(x, Real(1e-5))),
               .about = "x " + to_string(x.shape()) + ", drawn",
               .names = {"x", "y"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    for (const Index n : {256, 300, 1000})
        add(cases, "long rows", cases.normal({cases.between(1, 3), n}));
    for (const Index n : {1, 7, 32, 255})
        add(cases, "short rows", cases.uniform({cases.between(1, 3), n}, 3, 9));
    for (const char* const test : {"test: barriers", "test: numbers"}) {
        cases.add_test(test, "own", "your own normalize");
        cases.add_test(test, "right", "a correct function that is not yours");
    }
    cases.add_test("test: barriers", "race", "the kernel with a barrier missing from total()");
    cases.add_test("test: barriers", "leaves",
                   "the kernel whose threads without an element leave before the barriers");
    cases.add_test("test: numbers", "one_each",
                   "a function that leaves elements beyond the 256th out of the mean");
    cases.add_test("test: numbers", "first_row",
                   "a function that uses the first row's mean for all rows");
}
