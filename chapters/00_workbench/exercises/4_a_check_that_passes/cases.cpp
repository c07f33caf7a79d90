#include "judge/answer/cases.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

/// @param which  one of the functions in call.cpp
/// @param small  the first column of the factor is multiplied by it
void add(Cases& cases, const char* criterion, const char* which, bool right, const Tensor& x,
         const char* about, Real small = 1) {
    Tensor drawn = cases.normal({cases.between(3, 7), x.dim(1)});
    for (Index r = 0; r < drawn.dim(0); ++r) drawn(r, 0) *= small;
    const Index last = x.size() - 1;
    for (const Index at : {last, cases.between(0, last)})
        cases.add({.criterion = criterion,
                   .call = "passes",
                   .arguments = values(which, x, drawn, at, cases.between(1, 1000)),
                   .results = values(Index{right}),
                   .tolerance = 0,
                   .about = about,
                   .names = {"which", "x", "factor", "place", "seed",
                             "what your check returns (1: passes)"}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto x = [&](Index m, Index n) { return cases.normal({m, n}); };
    const char* cotangent = "a cotangent that hides nothing";
    const char* worst = "the worst element";
    const char* bend = "a function that bends";
    const char* nan = "not a number";
    const char* fine = "dW of a linear map without bias, and it is right";
    add(cases, cotangent, "product", true, x(3, 5), fine);
    add(cases, cotangent, "reshape", false, x(3, 5),
        "dW of a linear map, wrong: dy is reshaped where it should be transposed");
    add(cases, cotangent, "center", true, x(4, 3),
        "dx of x minus the mean of its row, and it is right");
    add(cases, cotangent, "twice center", false, x(4, 3),
        "dx of x minus the mean of its row, wrong: twice as large as it should be");
    add(cases, worst, "product", true, x(20, 21), fine);
    add(cases, worst, "product", true, x(1, 5),
        "dW of a linear map without bias, and it is right; one element is about 1e-9 of the "
        "largest",
        Real(1e-9));
    add(cases, worst, "one element", false, x(20, 21),
        "dW of a linear map with 420 elements, one of them wrong by 1e-4 of the largest");
    add(cases, bend, "exponential", true, cases.uniform({3, 4}, -2, 2),
        "dx of exp(x), and it is right");
    add(cases, bend, "nearly exponential", false, cases.uniform({3, 4}, -2, 2),
        "dx of exp(x), wrong: 1.0001 times as large as it should be");
    add(cases, nan, "product", true, x(5, 3), fine);
    add(cases, nan, "not a number", false, x(5, 3), "dW of a linear map, one element is NaN");
}
