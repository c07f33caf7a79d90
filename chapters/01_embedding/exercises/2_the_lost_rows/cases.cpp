#include "judge/cases.hpp"

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

void add(Cases& cases, const char* criterion, const char* which, bool right, const char* about) {
    cases.add({.criterion = criterion,
               .call = "accepts",
               .arguments = values(which),
               .results = values(Index{right}),
               .tolerance = 0,
               .about = about,
               .names = {"which", "what your test returns (1: accepted)"}});
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
    const char* own = "your own add_rows, which your test should accept";
    const char* fault = "your test finds the fault";
    const char* others = "your test finds others";
    add(cases, fault, "yours", true, own);
    add(cases, fault, "read first", false, "the function as it was at the beginning");
    add(cases, others, "yours", true, own);
    add(cases, others, "from zero", false, "one that loses what dtable held before");
    add(cases, others, "neighbours", false,
        "one that adds equal ids only where they follow one another");
    add(cases, others, "first and last", false,
        "one for which a word's first and last place count, and none between them");
    add(cases, others, "column left over", false,
        "one that overwrites the last column where the width is odd");
}
