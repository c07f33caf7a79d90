#include "judge/answer/cases.hpp"

#include "lib/eigen.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, const Ids& ids, const Tensor& before, const Tensor& dy) {
    Tensor right = before.clone(), last = before.clone();
    for (Index r = 0; r < ids.size(); ++r) {
        matrix(right).row(ids(r)) += matrix(dy).row(r);
        matrix(last).row(ids(r)) = matrix(before).row(ids(r)) + matrix(dy).row(r);
    }
    cases.add({.criterion = "each place counts",
               .call = "add_rows",
               .arguments = values(before, ids, dy),
               .results = values(right),
               .about = fmt::format("{} ids, table {}", ids.size(), before.shape()),
               .names = {"what dtable held", "ids", "dy", "dtable"},
               .mistakes = {{"only the last place of each word counts", values(last)}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    const auto draw = [&](Index n, Index V, Index d) {
        Ids ids = cases.ids({n}, V);
        ids(0) = ids(n - 1);
        add(cases, ids, cases.normal({V, d}), cases.normal({n, d}));
    };
    add(cases, Ids({3}, {1, 3, 1}), Tensor::zeros({4, 2}), Tensor({3, 2}, {0, 10, 1, 10, 2, 10}));
    draw(cases.between(3, 6), 5, 3);
    draw(24, 4, 8);
    draw(9, 20, 1);
    const char *own = "your own add_rows", *right = "a correct function that is not yours";
    const char* fault = "your test finds the fault";
    const char* others = "your test finds others";
    cases.add_test(fault, "own", own);
    cases.add_test(fault, "right", right);
    cases.add_test(fault, "read first", "the function as it was at the beginning");
    cases.add_test(others, "own", own);
    cases.add_test(others, "right", right);
    cases.add_test(others, "from zero", "a function that loses what dtable held before");
    cases.add_test(others, "neighbors",
                   "a function that adds equal ids only where they follow one another");
    cases.add_test(others, "first and last",
                   "a function that adds only the rows of a word's first and last place");
    cases.add_test(others, "column left over",
                   "a function that overwrites the last column if the width is odd");
}
