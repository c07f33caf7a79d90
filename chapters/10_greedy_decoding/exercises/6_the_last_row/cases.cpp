#include "judge/answer/cases.hpp"

#include <algorithm>

using namespace abh;
using namespace abh::judge;

namespace {

/// The likeliest word after row `t` of each sentence; if several are equally likely, the first or
/// the last.
Ids likeliest(const Tensor& y, const Tensor& weight, Index t, bool first = true) {
    Ids words({y.dim(0)});
    for (Index b = 0; b < y.dim(0); ++b) {
        double largest = 0;
        for (Index v = 0; v < weight.dim(0); ++v) {
            double z = 0;
            for (Index k = 0; k < y.dim(2); ++k)
                z += static_cast<double>(y(b, t, k)) * static_cast<double>(weight(v, k));
            if (v == 0 || z > largest || (!first && z == largest)) {
                largest = z;
                words(b) = static_cast<std::int32_t>(v);
            }
        }
    }
    return words;
}

void add(Cases& cases, const char* criterion, const Tensor& y, const Tensor& weight) {
    const Index last = y.dim(1) - 1;
    cases.add(
        {.criterion = criterion,
         .call = "next_words",
         .arguments = values(y, weight),
         .results = values(likeliest(y, weight, last)),
         .tolerance = 0,
         .about = "y " + to_string(y.shape()) + ", W " + to_string(weight.shape()),
         .names = {"y", "W", "words"},
         .mistakes = {{"these are the words after the first row", values(likeliest(y, weight, 0))},
                      {"this is the last of equally likely words, not the first",
                       values(likeliest(y, weight, last, false))}}});
}

/// Small whole numbers, so that some words are equally likely.
Tensor whole(Cases& cases, const Shape& shape) {
    Tensor x(shape);
    const Ids drawn = cases.ids(shape, 2);
    std::copy(drawn.values().begin(), drawn.values().end(), x.values().begin());
    return x;
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, "the next words", Tensor({1, 2, 2}, {2, 1, 1, 3}), Tensor({2, 2}, {1, 0, 0, 1}));
    for (const Index length : {1, 5, 8})
        add(cases, "the next words", cases.normal({6, length, 7}), cases.normal({11, 7}));
    add(cases, "the first of equals", whole(cases, {8, 4, 5}), whole(cases, {40, 5}));
    add(cases, "four times as fast", cases.normal({4, 48, 128}), cases.normal({2000, 128}));
}
