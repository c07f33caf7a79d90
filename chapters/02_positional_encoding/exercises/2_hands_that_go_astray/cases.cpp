#include "judge/answer/cases.hpp"

#include "chapters/02_positional_encoding/positional_encoding.hpp"

using namespace abh;
using namespace abh::judge;

namespace {

void add(Cases& cases, Index d_model, Index L, Index first, Index delta) {
    const Tensor table = sinusoid_table(first + L + 60, d_model);
    const Tensor codes = table.rows(first, first + L);
    const auto shift = [&](Index by) { return table.rows(first + by, first + by + L); };
    cases.add({.criterion = "a shift",
               .call = "shifted",
               .arguments = values(codes, delta),
               .results = values(shift(delta)),
               .about = fmt::format("positions {} to {} of a code of width {}, shifted by {}",
                                    first, first + L - 1, d_model, delta),
               .names = {"codes", "delta", "the shifted codes"},
               .mistakes = {{"each hand turns the wrong way", values(shift(-delta))}}});
}

}  // namespace

int main(int argc, char** argv) {
    Cases cases(argc, argv);
    add(cases, 4, 8, 60, 1);
    add(cases, 2 * cases.between(3, 12), cases.between(2, 9), 60, cases.between(2, 50));
    add(cases, 2 * cases.between(3, 12), 1, 75, -cases.between(2, 50));
    add(cases, 2, 5, 60, 7);
    const char *own = "your own function", *right = "a correct function that is not yours";
    const char* here = "your test finds the faults";
    const char* others = "your test finds others";
    cases.add_test(here, "own", own);
    cases.add_test(here, "right", right);
    cases.add_test(here, "both", "the function as it was at the beginning");
    cases.add_test(here, "halves",
                   "a function that takes the halves of a row for sines and cosines, but has "
                   "the right frequencies");
    cases.add_test(
        here, "columns",
        "a function whose exponent counts columns, with sines and cosines in the right places");
    cases.add_test(others, "own", own);
    cases.add_test(others, "right", right);
    cases.add_test(others, "backward", "a function that turns each hand the wrong way");
    cases.add_test(others, "one step",
                   "a function that shifts by 1 whatever delta is, unless it is 0");
}
